// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Unpacks sections that are compressed with zstd. libelf can read these only from version 0.189 on.
#ifndef HEAPSONDE_HOST_SYMBOLS_EXPAND_H
#define HEAPSONDE_HOST_SYMBOLS_EXPAND_H

#include <stdbool.h>

// Returns a descriptor of a copy in memory with these sections unpacked, and closes `fd`. Returns `fd` if there are
// none, or if they cannot be unpacked; then *damaged is set. `damaged` may be NULL.
int hs_expand__sections(int fd, bool *damaged);

// The same for all kinds of compression, for readers that do not unpack sections.
int hs_expand__all(int fd, bool *damaged);

#endif
