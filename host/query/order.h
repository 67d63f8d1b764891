// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What rows are ordered by.
#ifndef HEAPSONDE_QUERY_ORDER_H
#define HEAPSONDE_QUERY_ORDER_H

#include "host/query/match.h"
#include "host/query/scan.h"

// Tests change them.
struct hs_order_limits {
    uint64_t near_end; // a page within so many rows from an end is searched for from there
    uint64_t sortable; // so many rows are sorted at once without much ado
    uint64_t exact;    // parts of the heap's timeline with more rows begin where an interval of the pyramid does
};
extern struct hs_order_limits hs_order_limits;

struct hs_keyed_row {
    uint64_t key;
    uint32_t row;
};

// By key, then by row.
static inline bool hs_keyed_row__is_before(const struct hs_keyed_row *a, const struct hs_keyed_row *b)
{
    return a->key != b->key ? a->key < b->key : a->row < b->row;
}

// The keys of those rows of the matcher's block that match: in `room`, which is for a whole block, or elsewhere in the
// matcher.
const uint64_t *hs_order__keys(struct hs_matcher *matcher, enum hs_row_key by, uint64_t *room);

// Between which the keys of all rows of a zone lie. By time it says nothing.
struct hs_bounds hs_order__zone(const struct hs_zone *zone, enum hs_row_key by, uint64_t end_time);
// The same of a packed block; less exactly.
struct hs_bounds hs_order__block(const struct hs_columns *columns, uint64_t block, enum hs_row_key by,
                                 uint64_t end_time);

void hs_keyed_rows__sort(struct hs_keyed_row *rows, size_t count);
// Afterwards the first `wanted` rows are those that come first, in any order. There are more than `wanted`.
void hs_keyed_rows__select(struct hs_keyed_row *rows, size_t count, size_t wanted);

// Makes room for a page of `total` rows. *first: the number of its first row, counted from the least in either
// direction.
int hs_rows__make(struct hs_rows *rows, uint64_t total, bool descending, uint64_t skip, uint64_t limit, uint64_t *first,
                  struct hs_error *error);

// A page of all rows that match, which are sorted: as hs_query__rows.
int hs_keyed_rows__page(const struct hs_keyed_row *sorted, uint64_t total, bool descending, uint64_t skip,
                        uint64_t limit, struct hs_rows *rows, struct hs_error *error);

// The first `wanted` matching rows by key and row, or the last ones, in order. Fewer when there are fewer. What cannot
// be among them is not looked at. Returns 0 or a negative errno with the error set; the rows are to be freed.
int hs_order__extreme(const struct hs_store *store, const struct hs_filter *filter, enum hs_row_key by, bool last,
                      size_t wanted, const struct hs_query_control *control, struct hs_keyed_row **rows, size_t *count,
                      struct hs_error *error);

#endif
