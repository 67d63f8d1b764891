// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The matching rows as a history: allocations and frees in the order of time. Memory does not grow with the trace:
// blocks that are not freed yet wait in a queue, which moves to temporary files when it becomes long.
#ifndef HEAPSONDE_QUERY_EVENTS_H
#define HEAPSONDE_QUERY_EVENTS_H

#include "host/query/query.h"

struct hs_row_event {
    uint64_t row;
    uint64_t time;
    bool is_free;
    uint32_t tag; // 0 at an allocation; the value that the visitor sets there comes back with the row's free
};

// A value other than 0 stops and is returned.
typedef int (*hs_event_visitor)(void *context, const struct hs_store *store, struct hs_row_event *event);

// At one instant a row that was freed there comes before the rows allocated there, except a row's own allocation.
int hs_query__events(const struct hs_store *store, const struct hs_filter *filter,
                     const struct hs_query_control *control, hs_event_visitor visit, void *context,
                     struct hs_error *error);

#endif
