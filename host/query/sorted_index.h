// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A sorted index: all heap rows in the order of a key, for pages anywhere in sorted lists. It is made once and takes
// about two bytes for each row, in a temporary file that is not visible to others. The rows are divided into parts by
// their keys. Within a part, rows are in the order of their numbers. Parts have few rows with different keys, so that a
// page has to sort at most a part.
#ifndef HEAPSONDE_QUERY_SORTED_INDEX_H
#define HEAPSONDE_QUERY_SORTED_INDEX_H

#include "host/query/match.h"
#include "host/query/query.h"
#include "host/query/row_set.h"

struct hs_sorted_index;

// Takes about a second for ten million rows, on one thread.
int hs_sorted_index__make(struct hs_sorted_index **sorted_index, const struct hs_store *store, enum hs_row_key key,
                          const struct hs_query_control *control, struct hs_error *error);
void hs_sorted_index__destroy(struct hs_sorted_index *sorted_index);
uint64_t hs_sorted_index__bytes(const struct hs_sorted_index *sorted_index); // in memory, without files
// Drops its pages from memory. Other threads may read it meanwhile.
void hs_sorted_index__drop_pages(const struct hs_sorted_index *sorted_index);

enum hs_row_key hs_sorted_index__by(const struct hs_sorted_index *sorted_index);
// Whether lifetimes of the filter have the same meaning as in the index, for all rows.
bool hs_sorted_index__has_lifetimes(const struct hs_sorted_index *sorted_index);
// How many rows have a key within the bounds.
uint64_t hs_sorted_index__within(const struct hs_sorted_index *sorted_index, struct hs_bounds keys);

// A part: the ranks of its rows, and the bounds of their keys. With a single key the rows are in order.
struct hs_sorted_part {
    uint64_t first, end;
    struct hs_bounds keys;
};
struct hs_sorted_part hs_sorted_index__part(const struct hs_sorted_index *sorted_index, size_t part);
// The last part that begins at or before a rank.
size_t hs_sorted_index__part_at(const struct hs_sorted_index *sorted_index, uint64_t rank);
// The rows of a block of ranks; returns how many.
size_t hs_sorted_index__read(const struct hs_sorted_index *sorted_index, uint64_t block, uint64_t *row);
uint64_t hs_sorted_index__key(const struct hs_sorted_index *sorted_index, uint32_t row);

// The number of rows of a set before each part, and at the end the number of all: hs_sorted_index__parts + 1 numbers,
// to be freed.
size_t hs_sorted_index__parts(const struct hs_sorted_index *sorted_index);
int hs_sorted_index__count(const struct hs_sorted_index *sorted_index, const struct hs_row_set *set,
                           const struct hs_query_control *control, uint64_t **before, struct hs_error *error);

// As hs_query__rows, for the rows of a set. `before` is from hs_sorted_index__count. With NULL and NULL: all rows of
// the heap.
int hs_sorted_index__rows(const struct hs_sorted_index *sorted_index, const struct hs_row_set *set,
                          const uint64_t *before, bool descending, uint64_t skip, uint64_t limit, struct hs_rows *rows,
                          struct hs_error *error);

// Tests change them.
struct hs_sorted_index_limits {
    uint64_t part;    // approximate number of rows with different keys in a part
    uint64_t at_once; // number of rows in memory while the index is made
};
extern struct hs_sorted_index_limits hs_sorted_index_limits;

#endif
