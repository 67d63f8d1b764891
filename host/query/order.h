// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The keys by which rows are sorted.
#ifndef HEAPSONDE_QUERY_ORDER_H
#define HEAPSONDE_QUERY_ORDER_H

#include "host/query/match.h"
#include "host/query/scan.h"

// Tests change them.
struct hs_order_limits {
    uint64_t near_end; // a page within this many rows from an end is searched from that end
    uint64_t sortable; // up to this many rows are sorted in memory
    uint64_t exact;    // parts of the heap's timeline with more rows begin where an interval of the pyramid does
};
extern struct hs_order_limits hs_order_limits;

struct hs_keyed_row {
    uint64_t key;
    uint32_t row;
};

// Sorted by key, then by row.
static inline bool hs_keyed_row__is_before(const struct hs_keyed_row *a, const struct hs_keyed_row *b)
{
    return a->key != b->key ? a->key < b->key : a->row < b->row;
}

// The keys of the matching rows of the matcher's block. They are in `room`, which has space for a whole block, or
// elsewhere in the matcher.
const uint64_t *hs_order__keys(struct hs_matcher *matcher, enum hs_row_key by, uint64_t *room);

// The least and greatest key of a zone's rows.
struct hs_bounds hs_order__zone(const struct hs_zone *zone, enum hs_row_key by, uint64_t end_time);
// The same of a packed block; the bounds may be wider than needed.
struct hs_bounds hs_order__block(const struct hs_columns *columns, uint64_t block, enum hs_row_key by,
                                 uint64_t end_time);

void hs_keyed_rows__sort(struct hs_keyed_row *rows, size_t count);

// Allocates a page of `total` rows. *first: the number of its first row, counted from the least key in both directions.
int hs_rows__make(struct hs_rows *rows, uint64_t total, bool descending, uint64_t skip, uint64_t limit, uint64_t *first,
                  struct hs_error *error);

// A page of all matching rows, which are already sorted; as hs_query__rows.
int hs_keyed_rows__page(const struct hs_keyed_row *sorted, uint64_t total, bool descending, uint64_t skip,
                        uint64_t limit, struct hs_rows *rows, struct hs_error *error);

// The first `wanted` matching rows by key and row, or the last ones, in order; fewer if fewer match. Zones and blocks
// that cannot contain any of them are skipped. Returns 0 or a negative errno with the error set. The caller frees
// the rows.
int hs_order__extreme(const struct hs_store *store, const struct hs_filter *filter, enum hs_row_key by, bool last,
                      size_t wanted, const struct hs_query_control *control, struct hs_keyed_row **rows, size_t *count,
                      struct hs_error *error);

#endif
