// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Rows added up beforehand: a cell stands for all rows of a slice of the time that have the same stack, size, state and
// stream (unless that makes too many) and were freed, or were not. Totals of what a filter matches are sums of cells as
// long as it asks for nothing else; at the ends of a time range rows are looked at. They are worth it where cells are
// few for their rows. Other cells stand for rows of the whole time that have lifetimes of the same class besides, for
// filters that ask for lifetimes and not for times: at the ends of the range rows are looked at, which the list by
// lifetime names.
#ifndef HEAPSONDE_QUERY_CELLS_H
#define HEAPSONDE_QUERY_CELLS_H

#include "host/query/query.h"

struct hs_cell {
    uint32_t stack;
    uint32_t count;
    uint16_t state; // as in the store
    bool freed;
    uint8_t lifetime_class; // of other cells; what was never freed lives until the end
    uint32_t stream;        // 0 where cells are of all streams
    uint64_t size, usable;  // of each; of all together
    uint64_t first_time, last_time;
    uint64_t lifetime_min, lifetime_max, lifetime_sum; // of freed ones
};

struct hs_slice {
    const struct hs_cell *cell;
    size_t count;
    uint64_t first_time, last_time; // of the rows' allocation
};

struct hs_cells;

// Takes a moment: a second for some ten million rows. One thread works at it. -E2BIG: they would be too many.
int hs_cells__make(struct hs_cells **cells, const struct hs_store *store, const struct hs_query_control *control,
                   struct hs_error *error);
void hs_cells__destroy(struct hs_cells *cells);

// Whether a filter asks for nothing that cells do not know.
bool hs_cells__know(const struct hs_cells *cells, const struct hs_store *store, const struct hs_filter *filter);
size_t hs_cells__slices(const struct hs_cells *cells);
const struct hs_slice *hs_cells__slice(const struct hs_cells *cells, size_t number);
// The slice that a row is in.
const struct hs_slice *hs_cells__slice_of(const struct hs_cells *cells, uint64_t row);
// Whether all rows of a slice, or none, were allocated in the filter's time: then its cells say all.
bool hs_slice__is_whole(const struct hs_slice *slice, const struct hs_filter *filter);
bool hs_cell__matches(const struct hs_cell *cell, const struct hs_filter *filter);
void hs_cell__add(const struct hs_cell *cell, struct hs_total *total);

// Whether a filter asks for lifetimes and nothing else but what cells know, and both are there to answer it.
bool hs_cells__know_lifetimes(const struct hs_cells *cells, const struct hs_ranking *lifetimes,
                              const struct hs_store *store, const struct hs_filter *filter);
// Then: calls `visit` with all cells of what matches, those of single rows among them. Returns what is not 0 of it.
typedef int (*hs_cell_visitor)(void *context, const struct hs_cell *cell);
int hs_cells__each_of_lifetimes(const struct hs_cells *cells, const struct hs_ranking *lifetimes,
                                const struct hs_filter *filter, hs_cell_visitor visit, void *context);

// Tests change them.
struct hs_cells_limits {
    uint64_t zones;    // in a slice
    uint64_t rows;     // that a cell has to stand for, on average
    uint64_t classed;  // cells with classes of lifetimes, at most
    size_t by_streams; // bytes of cells by streams, at most; else they are of all streams
};
extern struct hs_cells_limits hs_cells_limits;

#endif
