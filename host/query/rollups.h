// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Rollups. A rollup is the sum of all rows of a time slice that have the same stack, size and state, and were all freed
// or all not freed; also of the same stream, unless that makes too many rollups. Totals of a filter on these properties
// and on times are sums of rollups; rows are read only at the ends of the time range. Rollups are made only if there
// are few rollups for the number of rows.
//
// A second kind of rollups covers the whole time, and each has one class of lifetimes. They answer filters on lifetimes
// without times. Rows are read only at the ends of the range; the index by lifetime finds these.
#ifndef HEAPSONDE_QUERY_ROLLUPS_H
#define HEAPSONDE_QUERY_ROLLUPS_H

#include "host/query/query.h"

struct hs_rollup {
    uint32_t stack;
    uint32_t count;
    uint16_t state; // as in the store
    bool freed;
    uint8_t lifetime_class; // second kind only; a block that was never freed lives until the end
    uint32_t stream;        // 0 if rollups are not split by stream
    uint64_t size, usable;  // of each; of all together
    uint64_t first_time, last_time;
    uint64_t lifetime_min, lifetime_max, lifetime_sum; // of freed ones
};

struct hs_slice {
    const struct hs_rollup *rollup;
    size_t count;
    uint64_t first_time, last_time; // of the rows' allocation
};

struct hs_rollups;
struct hs_sorted_index;

// Takes about a second for ten million rows, on one thread. -E2BIG: there would be too many rollups.
int hs_rollups__make(struct hs_rollups **rollups, const struct hs_store *store, const struct hs_query_control *control,
                     struct hs_error *error);
void hs_rollups__destroy(struct hs_rollups *rollups);
uint64_t hs_rollups__bytes(const struct hs_rollups *rollups); // in memory, without files

// Whether rollups have all the properties that a filter tests.
bool hs_rollups__know(const struct hs_rollups *rollups, const struct hs_store *store, const struct hs_filter *filter);
size_t hs_rollups__slices(const struct hs_rollups *rollups);
const struct hs_slice *hs_rollups__slice(const struct hs_rollups *rollups, size_t number);
// The slice that a row is in.
const struct hs_slice *hs_rollups__slice_of(const struct hs_rollups *rollups, uint64_t row);
// Whether all rows of a slice, or none, were allocated in the filter's time range. Then its rollups are sufficient.
bool hs_slice__is_whole(const struct hs_slice *slice, const struct hs_filter *filter);
bool hs_rollup__matches(const struct hs_rollup *rollup, const struct hs_filter *filter);
void hs_rollup__add(const struct hs_rollup *rollup, struct hs_total *total);

// Whether a filter tests lifetimes and otherwise only properties of rollups, and rollups and index exist.
bool hs_rollups__know_lifetimes(const struct hs_rollups *rollups, const struct hs_sorted_index *lifetimes,
                                const struct hs_store *store, const struct hs_filter *filter);
// For such a filter: calls `visit` with all matching rollups, including rollups of single rows. A nonzero result of
// `visit` ends it and is returned.
typedef int (*hs_rollup_visitor)(void *context, const struct hs_rollup *rollup);
int hs_rollups__each_of_lifetimes(const struct hs_rollups *rollups, const struct hs_sorted_index *lifetimes,
                                  const struct hs_filter *filter, hs_rollup_visitor visit, void *context);

// Tests change them.
struct hs_rollups_limits {
    uint64_t zones;    // in a slice
    uint64_t rows;     // least average number of rows per rollup
    uint64_t classed;  // most rollups with classes of lifetimes
    size_t by_streams; // most bytes of rollups that are split by stream; beyond that they are not split
};
extern struct hs_rollups_limits hs_rollups_limits;

#endif
