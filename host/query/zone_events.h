// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The events of a zone: allocations and frees in the order of time, zone by zone and on several threads, without
// sorting. The allocations of a zone are in order already, and each free is assigned to the allocation that follows it.
// There are two scans: the first notes the rows that end in a later zone than their own, the second reads the zones.
#ifndef HEAPSONDE_QUERY_ZONE_EVENTS_H
#define HEAPSONDE_QUERY_ZONE_EVENTS_H

#include "host/query/match.h"

#include <errno.h>

// Finds the first of some sorted times that is not before a given one. The span is divided into parts. A part nearly
// always contains few times, which are all compared, without a branch.
enum { HS_TIME_PARTS = 16384, HS_TIMES_AT_ONCE = 8 };
struct hs_time_index {
    const uint64_t *time; // followed by as many maximal values as are compared at once
    size_t count;
    uint64_t from;
    unsigned shift;
    uint32_t first[HS_TIME_PARTS + 2]; // by part of the span
};
// `time` has room for HS_TIMES_AT_ONCE more, which are set.
void hs_time_index__make(struct hs_time_index *index, uint64_t *time, size_t count);
static inline size_t hs_time_index__find(const struct hs_time_index *index, uint64_t time)
{
    uint64_t part = time < index->from ? 0 : (time - index->from) >> index->shift;
    if (part >= HS_TIME_PARTS)
        return index->count;
    size_t low = index->first[part], high = index->first[part + 1];
    while (__builtin_expect(high - low > HS_TIMES_AT_ONCE, 0)) {
        size_t middle = low + (high - low) / 2;
        if (index->time[middle] < time)
            low = middle + 1;
        else
            high = middle;
    }
    // Those behind `high` are not before it either.
    const uint64_t *at = &index->time[low];
    for (unsigned i = 0; i < HS_TIMES_AT_ONCE; i++)
        low += at[i] < time;
    return low;
}

// The end times of the zones.
struct hs_zone_times {
    const struct hs_zone *zone;
    size_t count;
    uint64_t *last;
    struct hs_time_index *index;
};

// Rows of a worker that end in later zones, by zone.
struct hs_later_rows {
    uint32_t *row;
    size_t count, capacity;
};
struct hs_later {
    struct hs_later_rows *zone;
};

struct hs_free {
    uint64_t size;
    uint32_t row;
    uint32_t zone_event; // it comes right before this one
};

// The rows that begin or end in a zone. One for each worker.
struct hs_zone_events {
    size_t count;
    uint64_t time[HS_ZONE_ROWS + HS_TIMES_AT_ONCE];
    uint64_t size[HS_ZONE_ROWS];
    uint32_t row[HS_ZONE_ROWS];
    bool ends_at_once[HS_ZONE_ROWS]; // it is freed directly after its allocation, and there is no free event for it
    struct hs_free *free;            // in no order
    uint64_t *free_time;
    size_t frees, room;
    struct hs_time_index index;
};

// The data that both scans share.
struct hs_zone_event_scan {
    const struct hs_store *store;
    const struct hs_columns *columns;
    const struct hs_filter *filter;
    uint64_t from, to; // allocations and frees outside of it are not zone events
    unsigned workers;
    struct hs_zone_times times;
    struct hs_matcher **matchers;
    struct hs_later *later;              // by worker
    struct hs_zone_events **zone_events; // by worker
};

// The store, the filter, the times and the workers are given. Returns 0 or -ENOMEM; hs_zone_event_scan__end in either
// case.
int hs_zone_event_scan__start(struct hs_zone_event_scan *event_scan);
void hs_zone_event_scan__end(struct hs_zone_event_scan *event_scan);

// First scan: a row of the zone ends at `end`, within the times. Returns 0 or -ENOMEM.
int hs_later__add(struct hs_later_rows *rows, uint64_t row);
static inline int hs_zone_event_scan__note(struct hs_zone_event_scan *event_scan, unsigned worker, size_t zone,
                                           uint64_t row, uint64_t end)
{
    if (end <= event_scan->times.last[zone])
        return 0;
    size_t later = hs_time_index__find(event_scan->times.index, end);
    return later < event_scan->times.count ? hs_later__add(&event_scan->later[worker].zone[later], row) : 0;
}

// Second scan: the events of the zone.
int hs_zone_event_scan__read(struct hs_zone_event_scan *event_scan, unsigned worker, size_t zone);

#endif
