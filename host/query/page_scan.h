// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Pages near an end of a sorted list of the rows that match a filter. Rows are read from that end until enough match;
// all others are not read.
#ifndef HEAPSONDE_QUERY_PAGE_SCAN_H
#define HEAPSONDE_QUERY_PAGE_SCAN_H

#include "host/query/rank_counts.h"

struct hs_page_scan {
    const struct hs_store *store;
    const struct hs_filter *filter;
    const struct hs_row_set *set;             // of the rows that match the filter; NULL: not made
    const struct hs_rank_counts *rank_counts; // of the sorted index, whose dictionary knows the filter; NULL: none
    uint64_t total;                           // of the rows that match
    bool descending;
    uint64_t skip, limit;
};

// As hs_query__rows, in the order of the index, or by time if it is NULL. The filter matches heap rows only. -E2BIG,
// without an error message: too many rows would have to be read.
int hs_page_scan__rows(const struct hs_page_scan *page, const struct hs_sorted_index *sorted_index,
                       struct hs_rows *rows, struct hs_error *error);

// Tests change it: how many rows of columns or sets are read; a row whose columns are read counts as 16.
extern uint64_t hs_page_scan_limit;

#endif
