// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Runs a piece of work over the zones of a store on several threads.
#ifndef HEAPSONDE_QUERY_SCAN_H
#define HEAPSONDE_QUERY_SCAN_H

#include "host/query/query.h"

// Called with a run of rows of one zone, on thread `worker` of `workers`. A nonzero result stops everything and is
// returned.
typedef int (*hs_scan_work)(void *context, unsigned worker, uint64_t first, uint64_t end);

struct hs_scan {
    const struct hs_store *store;
    const struct hs_filter *filter; // zones that cannot match are skipped; NULL: none
    const struct hs_query_control *control;
    unsigned workers; // from hs_scan__workers
    hs_scan_work work;
    void *context;
    bool may_wait;   // the work may wait for something, so the scan scheduler does not schedule it
    unsigned behind; // number of later scans of this kind for the same question
};

unsigned hs_scan__workers(const struct hs_store *store, const struct hs_query_control *control);
int hs_scan__run(const struct hs_scan *scan, struct hs_error *error);

// For readers of the columns that have reached this zone: drops pages long before it, if the control asks for it.
void hs_scan__drop_pages_behind(const struct hs_store *store, const struct hs_query_control *control, uint64_t zone);

// A filter that is not given means the heap.
static inline const struct hs_filter *hs_filter__or_heap(const struct hs_filter *filter, struct hs_filter *heap)
{
    if (!filter)
        hs_filter__init(heap);
    return filter ? filter : heap;
}

// Refuses a question about single blocks for a trace that has only sums. Returns -ENOTSUP.
int hs_query__refuse_aggregate(struct hs_error *error);

// Whether some row of the zone may match.
bool hs_filter__zone_may_match(const struct hs_filter *filter, const struct hs_zone *zone, uint64_t end_time);

// Whether the filter has conditions that need more than the row's own columns.
bool hs_filter__needs_chain(const struct hs_filter *filter);

// The conditions that are tested for single rows: times, detail, the chain, `accept`.
bool hs_filter__matches_row(const struct hs_filter *filter, const struct hs_store *store, uint64_t row);

// Whether the time lies within one of the filter's `times`.
bool hs_filter__has_time(const struct hs_filter *filter, uint64_t time);

// Whether the filter restricts nothing but the domains and the stacks.
bool hs_filter__asks_only_stacks(const struct hs_filter *filter);

// The filter without its conditions on sizes, states and whether blocks were freed.
struct hs_filter hs_filter__without_states(const struct hs_filter *filter);
// Its conditions on states and on whether blocks were freed.
bool hs_filter__matches_state(const struct hs_filter *filter, unsigned state, bool freed);

#endif
