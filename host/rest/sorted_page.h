// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Pages of the rows that match the question's filter, from the sorted indexes of a trace.
#ifndef HEAPSONDE_HOST_REST_SORTED_PAGE_H
#define HEAPSONDE_HOST_REST_SORTED_PAGE_H

#include "host/rest/question.h"

struct hs_sorted_page {
    struct hs_question *question;
    enum hs_row_key key;
    const struct hs_sorted_index *sorted_index; // NULL: sorted by time, or there is no index
    const struct hs_rank_counts *rank_counts;   // of that index, if they know the filter; NULL: none
    bool is_there;                              // else use hs_query__rows
    bool is_filtered;
    uint64_t total;               // with a filter: number of rows that match
    const struct hs_row_set *set; // rows that match; NULL: not computed yet, or the whole heap
};

// Computes what every page needs, and keeps it until the question ends. 0, or a negative errno with the question's
// error set.
int hs_sorted_page__find(struct hs_sorted_page *page, struct hs_question *question, enum hs_row_key key);

// Requires is_there.
int hs_sorted_page__rows(struct hs_sorted_page *page, bool descending, uint64_t skip, uint64_t limit,
                         struct hs_rows *rows, struct hs_error *error);

#endif
