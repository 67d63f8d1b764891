// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Of two numbers.
#ifndef HEAPSONDE_BASE_NUMBERS_H
#define HEAPSONDE_BASE_NUMBERS_H

#include <stdint.h>

static inline uint64_t hs_number__most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline uint64_t hs_number__least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t hs_number__distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

// By how much `a` is larger; 0: it is not.
static inline uint64_t hs_number__above(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static inline void hs_number__raise(uint64_t *number, uint64_t least)
{
    *number = hs_number__most(*number, least);
}

static inline void hs_number__lower(uint64_t *number, uint64_t most)
{
    *number = hs_number__least(*number, most);
}

// Below, at or above 0, as `a` is less than, equal to or larger than `b`.
static inline int hs_number__compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

// The same for qsort and bsearch.
static inline int hs_number__compare_items(const void *left, const void *right)
{
    return hs_number__compare(*(const uint64_t *)left, *(const uint64_t *)right);
}

#endif
