// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Compressed sections of ELF files. libdw unpacks all that it knows at once, and takes the size that a section claims.
#ifndef HEAPSONDE_SYMBOLS_COMPRESSED_H
#define HEAPSONDE_SYMBOLS_COMPRESSED_H

#include <libelf.h>
#include <stdbool.h>

// Whether what the compressed sections of a file unpack to is in proportion to what they take in it.
bool hs_compressed__is_sane(Elf *elf);

#endif
