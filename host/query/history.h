// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The memory of the matching rows over time, computed zone by zone on several threads. Between two allocations only the
// sum of all frees matters, so nothing is sorted: each free is assigned to the allocation that follows it.
#ifndef HEAPSONDE_QUERY_HISTORY_H
#define HEAPSONDE_QUERY_HISTORY_H

#include "host/query/query.h"

struct hs_history {
    struct hs_timeline *timeline; // its points are filled in
    uint64_t to;
    struct hs_live_total start; // live memory when the timeline begins; usable is not known
    uint64_t peak_bytes;        // the most that was live after an allocation
    uint64_t peak_row;          // the first allocation after which this much was live; UINT64_MAX: none
};

// Returns 0 or a negative errno with the error set.
int hs_history__make(struct hs_history *history, const struct hs_store *store, const struct hs_filter *filter,
                     const struct hs_query_control *control, struct hs_error *error);

#endif
