// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Pages near an end of a sorted list of the rows that match a filter. Rows are read from that end until enough match;
// all others are not read.
#ifndef HEAPSONDE_QUERY_NEAR_H
#define HEAPSONDE_QUERY_NEAR_H

#include "host/query/tally.h"

struct hs_near {
    const struct hs_store *store;
    const struct hs_filter *filter;
    const struct hs_row_set *set; // of what matches the filter; NULL: not made
    const struct hs_tally *tally; // of the ranking, whose dictionary knows the filter; NULL: none
    uint64_t total;               // of the rows that match
    bool descending;
    uint64_t skip, limit;
};

// As hs_query__rows, in the order of the index, or by time if it is NULL. The filter matches heap rows only. -E2BIG,
// without an error message: too many rows would have to be read.
int hs_near__rows(const struct hs_near *page, const struct hs_ranking *ranking, struct hs_rows *rows,
                  struct hs_error *error);

// Tests change it: how many rows of columns or sets are read; a row whose columns are read counts as 16.
extern uint64_t hs_near_limit;

#endif
