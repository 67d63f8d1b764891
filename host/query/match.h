// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Which rows of a packed block match a filter. The conditions run over whole columns one after another; if the packing
// of a column shows that none or all of its values match, the block is not unpacked. hs_filter__matches gives the same
// result for one row.
#ifndef HEAPSONDE_QUERY_MATCH_H
#define HEAPSONDE_QUERY_MATCH_H

#include "host/query/block.h"
#include "host/query/query.h"

struct hs_bounds {
    uint64_t least, most;
};

// One for each worker: data that was computed from the filter, and the current block.
struct hs_matcher {
    const struct hs_store *store;
    const struct hs_filter *filter;
    struct hs_column_block block;
    size_t count;                    // of the rows of the block that match
    uint16_t place[HS_PACKED_BLOCK]; // of each of them in the block, in order
    bool all;                        // every row of the block matches
    bool all_places;                 // `place` is that of a whole block
    uint8_t keep[HS_PACKED_BLOCK];   // 1: it matches so far; not set if all rows do
    // From the filter:
    struct hs_bounds time, free_time;
    uint64_t end_time;
    bool asks_lifetimes, asks_row;
    struct hs_matcher **part;            // by node of `where`, of those that are a filter
    uint8_t (*verdict)[HS_PACKED_BLOCK]; // by node of `where`
    uint8_t state_matches[256];
};

// Returns NULL when memory is out.
struct hs_matcher *hs_matcher__create(const struct hs_store *store, const struct hs_filter *filter);
void hs_matcher__destroy(struct hs_matcher *matcher);

// Tests a block: returns how many rows match, and sets `count` and `place`.
size_t hs_matcher__match(struct hs_matcher *matcher, uint64_t block);
// The same, but returns only their number.
size_t hs_matcher__count(struct hs_matcher *matcher, uint64_t block);

// The i-th row that matches.
static inline uint64_t hs_matcher__row(const struct hs_matcher *matcher, size_t i)
{
    return matcher->block.number * HS_PACKED_BLOCK + matcher->place[i];
}

// One for each worker; NULL: out of memory.
struct hs_matcher **hs_matchers__create(const struct hs_store *store, const struct hs_filter *filter, unsigned workers);
void hs_matchers__destroy(struct hs_matcher **matchers, unsigned workers);

#endif
