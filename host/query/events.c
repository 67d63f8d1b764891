// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/events.h"

#include "host/query/pending.h"
#include "host/query/scan.h"

// Frees between two times that the columns are left: their rows lie anywhere behind the current row.
#define DROP_AFTER 2000000u

struct events_walk {
    struct hs_pending pending;
    const struct hs_columns *columns;
    const struct hs_query_control *control;
    uint64_t row;   // the current one
    uint64_t frees; // so far
    hs_event_visitor visit;
    void *context;
};

static int visit_first(struct events_walk *walk, const struct hs_store *store, const struct hs_pending_item *item)
{
    struct hs_row_event event = {.row = item->row, .time = item->time, .is_free = true, .tag = item->tag};
    int result = hs_pending__drop_first(&walk->pending);
    if (++walk->frees % DROP_AFTER == 0)
        hs_scan__drop_pages_behind(store, walk->control, walk->row / HS_ZONE_ROWS);
    return result ? result : walk->visit(walk->context, store, &event);
}

static int visit_row(void *context, const struct hs_store *store, uint64_t row)
{
    struct events_walk *walk = context;
    struct hs_row_event event = {.row = row, .time = hs_row__time(walk->columns, row)};
    struct hs_pending_item item;
    int result = 0;
    walk->row = row;
    while (!result && hs_pending__first(&walk->pending, &item) &&
           (item.time < event.time || (item.time == event.time && item.row < row)))
        result = visit_first(walk, store, &item);
    if (!result)
        result = walk->visit(walk->context, store, &event);
    item = (struct hs_pending_item){hs_row__free_time(walk->columns, row), (uint32_t)row, event.tag};
    if (!result && item.time != HS_NEVER)
        result = hs_pending__add(&walk->pending, &item);
    return result;
}

int hs_query__events(const struct hs_store *store, const struct hs_filter *filter,
                     const struct hs_query_control *control, hs_event_visitor visit, void *context,
                     struct hs_error *error)
{
    struct events_walk walk = {
        .columns = hs_store__columns(store), .control = control, .visit = visit, .context = context};
    struct hs_pending_item item;
    hs_pending__start(&walk.pending, HS_PENDING_LIMIT);
    int result = hs_query__each(store, filter, control, visit_row, &walk, error);
    while (!result && hs_pending__first(&walk.pending, &item))
        result = visit_first(&walk, store, &item);
    hs_pending__free(&walk.pending);
    return result;
}
