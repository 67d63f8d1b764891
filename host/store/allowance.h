// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Why no sum of a store is a wrapped one: the numbers of a trace that are added up, above all sizes of blocks, are
// taken out of an allowance when they come in. One that is larger than a part of what is left counts as that part and
// is counted as capped. Real programs come nowhere near; damage and files of others do, and the sane numbers behind an
// insane one have to stay what they are: that is why none gets all that is left.
//
// What is ever added up together has HS_SUM_LIMIT at most, so that differences and doubles of sums fit, too:
//   HS_ALLOWANCE_SMALL    rows below HS_SMALL_BLOCK; that there are no more than HS_NO_ROW is what keeps to it
//   HS_ALLOWANCE_LARGE    larger blocks
//   HS_ALLOWANCE_MAPS     larger mappings: a huge one of which parts are unmapped counts anew with each rest of it
//   HS_ALLOWANCE_CULLED   what the recorder summed up beside the rows
// And by themselves:
//   HS_ALLOWANCE_SUMS     a trace that holds sums in place of events
//   HS_ALLOWANCE_SAMPLES  weights of samples: as recorded, and as weighed
//
// What is taken depends on what came before it: the order in which numbers come in is the trace's, however it is
// imported, and what goes on from an earlier import goes on with that one's allowance.
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
    uint64_t capped; // numbers that count for less
};

// Returns what `wanted` counts as.
static inline uint64_t hs_allowance__take(struct hs_allowance *allowance, uint64_t wanted)
{
    const uint64_t most = allowance->left / 64;
    uint64_t taken = wanted < most ? wanted : most;
    allowance->capped += taken != wanted;
    allowance->left -= taken;
    return taken;
}

// The same for the size of a block, whose small part is allowed as it is.
static inline uint64_t hs_allowance__take_size(struct hs_allowance *allowance, uint64_t size)
{
    return size < HS_SMALL_BLOCK ? size
                                 : HS_SMALL_BLOCK - 1 + hs_allowance__take(allowance, size - (HS_SMALL_BLOCK - 1));
}

#endif
