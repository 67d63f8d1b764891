// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The rows that match a filter, as one bit for each row of the store. Repeated questions about them need not read the
// columns.
#ifndef HEAPSONDE_QUERY_ROW_SET_H
#define HEAPSONDE_QUERY_ROW_SET_H

#include "host/base/check.h"
#include "host/query/query.h"

struct hs_row_set {
    uint64_t *words; // row n is bit n % 64 of word n / 64
    uint64_t count;  // of the rows that match
    size_t bytes;    // of the words
};

// Returns 0 or a negative errno with the error set; hs_row_set__free after success.
int hs_row_set__make(struct hs_row_set *set, const struct hs_store *store, const struct hs_filter *filter,
                     const struct hs_query_control *control, struct hs_error *error);
void hs_row_set__free(struct hs_row_set *set);

// Like hs_query__rows by time.
int hs_row_set__rows(const struct hs_row_set *set, bool descending, uint64_t skip, uint64_t limit, struct hs_rows *rows,
                     struct hs_error *error);

static inline bool hs_row_set__has(const struct hs_row_set *set, uint32_t row)
{
    HS_CHECK_SLOW(row / 64 < set->bytes / sizeof *set->words);
    return set->words[row / 64] >> (row % 64) & 1;
}

#endif
