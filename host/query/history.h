// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the matching rows took over time, worked out zone by zone on several threads. Between two allocations only the
// sum of what was freed matters, so nothing is sorted: each free finds the allocation that it comes before.
#ifndef HEAPSONDE_QUERY_HISTORY_H
#define HEAPSONDE_QUERY_HISTORY_H

#include "host/query/query.h"

struct hs_history {
    struct hs_timeline *timeline; // its points are filled in
    uint64_t to;
    struct hs_live_total start; // what was there when the timeline begins; usable is not known
    uint64_t peak_bytes;        // the most there was after an allocation
    uint64_t peak_row;          // the first allocation after which there was so much; UINT64_MAX: none
};

// Returns 0 or a negative errno with the error set.
int hs_history__make(struct hs_history *history, const struct hs_store *store, const struct hs_filter *filter,
                     const struct hs_query_control *control, struct hs_error *error);

#endif
