// SPDX-License-Identifier: MIT OR Apache-2.0
//
// This is why sums over a store never overflow. Numbers of a trace that are added up, mainly sizes of blocks, are taken
// from an allowance when they are imported. A number that is larger than a certain part of the remaining allowance
// counts as that part, and is counted as capped. Real programs never come near the limit; damaged or foreign files may.
// No number gets all of the remaining allowance, so that correct numbers after a wrong one keep their values.
//
// Everything that is ever added up together is at most HS_SUM_LIMIT, so that differences of sums, and doubled sums,
// also fit:
//   HS_ALLOWANCE_SMALL    rows below HS_SMALL_BLOCK; holds because there are at most HS_NO_ROW rows
//   HS_ALLOWANCE_LARGE    larger blocks
//   HS_ALLOWANCE_MAPS     larger mappings; the rest of a partially unmapped mapping counts again
//   HS_ALLOWANCE_CULLED   sums that the recorder kept instead of rows
// Separately:
//   HS_ALLOWANCE_SUMS     a trace with sums in place of events
//   HS_ALLOWANCE_SAMPLES  weights of samples, as recorded and as computed
//
// How much a number may take depends on the numbers before it. So the order is always that of the trace, and an import
// that continues an earlier one continues with its allowance.
#ifndef HEAPSONDE_STORE_ALLOWANCE_H
#define HEAPSONDE_STORE_ALLOWANCE_H

#include <stdint.h>

#define HS_SUM_LIMIT         ((uint64_t)1 << 62)
#define HS_SMALL_BLOCK       ((uint64_t)1 << 26) // bytes, usable
#define HS_ALLOWANCE_SMALL   (HS_SMALL_BLOCK << 32)
#define HS_ALLOWANCE_LARGE   (HS_SUM_LIMIT / 4)
#define HS_ALLOWANCE_MAPS    (HS_SUM_LIMIT / 2)
#define HS_ALLOWANCE_CULLED  (HS_SUM_LIMIT / 8)
#define HS_ALLOWANCE_SUMS    (HS_SUM_LIMIT / 2)
#define HS_ALLOWANCE_SAMPLES (HS_SUM_LIMIT / 2)
_Static_assert(HS_ALLOWANCE_SMALL + HS_ALLOWANCE_LARGE + HS_ALLOWANCE_MAPS + HS_ALLOWANCE_CULLED <= HS_SUM_LIMIT,
               "what is added up together");

struct hs_allowance {
    uint64_t left;
    uint64_t capped; // numbers that count for less than their value
};

// Takes `wanted` from the allowance. Returns the value that it counts as.
static inline uint64_t hs_allowance__take(struct hs_allowance *allowance, uint64_t wanted)
{
    const uint64_t most = allowance->left / 64;
    uint64_t taken = wanted < most ? wanted : most;
    allowance->capped += taken != wanted;
    allowance->left -= taken;
    return taken;
}

// The same for the size of a block. Sizes below HS_SMALL_BLOCK are not changed.
static inline uint64_t hs_allowance__take_size(struct hs_allowance *allowance, uint64_t size)
{
    return size < HS_SMALL_BLOCK ? size
                                 : HS_SMALL_BLOCK - 1 + hs_allowance__take(allowance, size - (HS_SMALL_BLOCK - 1));
}

#endif
