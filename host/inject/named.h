// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Allocators that the user names, because their functions have names, or places, that nobody would guess.
#ifndef HEAPSONDE_HOST_INJECT_NAMED_H
#define HEAPSONDE_HOST_INJECT_NAMED_H

#include "host/base/error.h"

struct hs_named_allocators {
    const char *prefixes; // A,B,...: functions Amalloc, Afree, ...; "none": malloc, free, ...; NULL: none
    const char *places;   // malloc=ADDRESS,free=ADDRESS,... as the program's file has them; NULL: none
};

// Whether the two are written correctly.
int hs_named_allocators__check(const struct hs_named_allocators *named, struct hs_error *error);

#endif
