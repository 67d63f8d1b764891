// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A scan for the rows that match a filter, on several threads.
#ifndef HEAPSONDE_QUERY_BLOCK_SCAN_H
#define HEAPSONDE_QUERY_BLOCK_SCAN_H

#include "host/query/match.h"

// Called with each block that has rows that match (hs_matcher__match), on thread `worker`. A nonzero result stops
// everything and is returned.
typedef int (*hs_block_work)(void *context, unsigned worker, struct hs_matcher *matcher);

struct hs_block_scan {
    const struct hs_store *store;
    const struct hs_filter *filter;
    const struct hs_query_control *control; // may be NULL
    unsigned workers;                       // from hs_scan__workers
    hs_block_work work;
    void *context;
};

int hs_block_scan__run(const struct hs_block_scan *scan, struct hs_error *error);

#endif
