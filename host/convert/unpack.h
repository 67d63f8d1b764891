// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A file to be read from its beginning to its end, whether it is compressed (gzip, zstd) or not.
#ifndef HEAPSONDE_HOST_CONVERT_UNPACK_H
#define HEAPSONDE_HOST_CONVERT_UNPACK_H

#include <stdio.h>

// NULL: errno says why. What is damaged or cut off ends early, with the stream's error set.
FILE *hs_unpack__open(const char *path);

#endif
