// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Sections that are compressed with zstd, which libelf reads from version 0.189 on only.
#ifndef HEAPSONDE_HOST_SYMBOLS_EXPAND_H
#define HEAPSONDE_HOST_SYMBOLS_EXPAND_H

#include <stdbool.h>

// A descriptor of the same file with these sections unpacked, in memory, and `fd` is closed; `fd` where there are none,
// or they cannot be unpacked: *damaged is then set. `damaged` may be NULL.
int hs_expand__sections(int fd, bool *damaged);

// The same for sections that are compressed in any way, for readers that take a file as it is.
int hs_expand__all(int fd, bool *damaged);

#endif
