// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Compressed sections of ELF files. libdw unpacks all that it knows at once, and trusts the size in the section header.
#ifndef HEAPSONDE_SYMBOLS_COMPRESSED_H
#define HEAPSONDE_SYMBOLS_COMPRESSED_H

#include <libelf.h>
#include <stdbool.h>

// Whether the unpacked size of the compressed sections is plausible for their size in the file.
bool hs_compressed__is_sane(Elf *elf);

#endif
