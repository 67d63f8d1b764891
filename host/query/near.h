// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Pages near an end of a sorted list, of what matches a filter: rows are looked at from that end on until there are
// enough, and all others are not.
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

// As hs_query__rows in the order of the ranking, whose filter nothing but heap rows match; NULL: by time. -E2BIG, with
// no error set: too many rows would have to be looked at.
int hs_near__rows(const struct hs_near *page, const struct hs_ranking *ranking, struct hs_rows *rows,
                  struct hs_error *error);

// Tests change it: how many rows of columns or sets are looked at; one whose columns are read counts as 16.
extern uint64_t hs_near_limit;

#endif
