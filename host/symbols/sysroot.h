// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Names of files as another machine means them: below a folder that holds a copy of its root.
#ifndef HEAPSONDE_HOST_SYMBOLS_SYSROOT_H
#define HEAPSONDE_HOST_SYMBOLS_SYSROOT_H

#include <stddef.h>

// Where `path` of that machine lies on this one. Symbolic links are followed as that machine would follow them: an
// absolute one starts again at `root`, and no `..` leaves it. Returns 0 and the path in `to`, or a negative errno
// (-ENOENT, -ENOTDIR, -ELOOP, -ENAMETOOLONG, ...).
int hs_sysroot__resolve(const char *root, const char *path, char *to, size_t size);

#endif
