// SPDX-License-Identifier: MIT OR Apache-2.0
//
// CPU time and resident memory over time, on the intervals of a timeline of the heap.
#ifndef HEAPSONDE_QUERY_USAGE_H
#define HEAPSONDE_QUERY_USAGE_H

#include "host/query/query.h"

struct hs_usage_point {
    uint64_t cpu_ns; // CPU time within the interval: a sample stands for the time before it
    uint64_t cpu_samples;
    uint64_t faulted_bytes; // became resident within the interval
    uint64_t resident_bytes_max,
        resident_bytes_end; // resident bytes; pages that were resident before the recording are not known
};

struct hs_usage {
    uint64_t from, width;
    struct hs_usage_point *point;
    size_t count;
};

// `count` intervals of `width` ns from `from` on. The filter (NULL: none) applies to the samples of CPU time; resident
// memory is that of the whole process.
//
// A page is resident from its first page fault until the program gives it back or its mapping ends: one that the
// program made, or one that the allocator made for a single block. Pages that the allocator returns in other ways are
// not known.
int hs_query__usage(const struct hs_store *store, const struct hs_filter *filter, uint64_t from, uint64_t width,
                    size_t count, const struct hs_query_control *control, struct hs_usage *usage,
                    struct hs_error *error);
void hs_usage__free(struct hs_usage *usage);

// Calls `visit` after each change of the resident pages, in the order of time, with the changed pages. `visit`
// returns 0, or a negative errno, which ends it.
struct hs_page_set;
int hs_query__each_residence(const struct hs_store *store, const struct hs_query_control *control,
                             int (*visit)(void *context, uint64_t time, uint64_t first, uint64_t end,
                                          const struct hs_page_set *resident),
                             void *context, struct hs_error *error);

// Adds the pages that are resident after all events up to `time` to the set, which is empty before.
int hs_query__resident_pages(const struct hs_store *store, uint64_t time, const struct hs_query_control *control,
                             struct hs_page_set *pages, struct hs_error *error);

// The first time of the peak of resident memory, and its bytes.
int hs_query__resident_peak(const struct hs_store *store, const struct hs_query_control *control, uint64_t *time,
                            uint64_t *bytes, struct hs_error *error);

#endif
