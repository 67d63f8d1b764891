// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Pages from the sorted lists of a trace, of what matches the question's filter.
#ifndef HEAPSONDE_HOST_REST_SORTED_PAGE_H
#define HEAPSONDE_HOST_REST_SORTED_PAGE_H

#include "host/rest/question.h"

struct hs_sorted_page {
    struct hs_question *question;
    enum hs_row_key key;
    const struct hs_sorted_index *sorted_index; // NULL: by time, or there is no list
    bool is_there;                              // else pages are to be asked of hs_query__rows
    bool is_filtered;
    uint64_t total;               // when filtered: of the rows that match
    const struct hs_row_set *set; // that match; NULL: not made yet, or all of the heap
};

// What every page takes, worked out once and kept until the question ends. 0 or a negative errno with the question's
// error.
int hs_sorted_page__find(struct hs_sorted_page *page, struct hs_question *question, enum hs_row_key key);

// Only when it is there.
int hs_sorted_page__rows(struct hs_sorted_page *page, bool descending, uint64_t skip, uint64_t limit,
                         struct hs_rows *rows, struct hs_error *error);

#endif
