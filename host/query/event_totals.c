// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/event_totals.h"

#include "host/query/planner.h"

#include <errno.h>
#include <stdlib.h>

static void add_sample(void *context, const struct hs_sample *sample)
{
    struct hs_total *all = context, *total = &all[sample->stack];
    if (!total->allocated_count || sample->time < total->first_time)
        total->first_time = sample->time;
    if (sample->time > total->last_time)
        total->last_time = sample->time;
    total->allocated_bytes += sample->weight;
    total->allocated_count++;
}

struct samples_adding {
    const struct hs_touching *touching;
    struct hs_total *all;
    size_t nodes;
};

static int add_block(void *context, const struct hs_store *store, uint64_t row)
{
    const struct samples_adding *adding = context;
    const struct hs_columns *columns = hs_store__columns(store);
    uint64_t size = hs_row__size(columns, row), touched = hs_touching__bytes(adding->touching, row);
    uint64_t time = hs_row__time(columns, row);
    uint32_t stack = hs_row__stack(columns, row);
    struct hs_total *total = &adding->all[stack < adding->nodes ? stack : 0];
    if (!total->last_time) // rows are in the order of time
        total->first_time = time;
    total->last_time = time;
    if (!(hs_row__flags(columns, row) & HS_ROW_SPLIT)) { // what is left of a mapping was counted with it
        total->allocated_bytes += touched;
        total->allocated_usable += size;
        total->allocated_count++;
    }
    if (hs_row__free_time(columns, row) != HS_NEVER)
        return 0;
    total->live_bytes += hs_touching__resident(adding->touching, row);
    total->live_usable += size;
    total->live_count++;
    return 0;
}

static int add_samples(const struct hs_store *store, enum hs_events events, const struct hs_filter *filter,
                       struct hs_total *all, struct hs_error *error)
{
    return hs_query__each_sample(store, events, filter, add_sample, all) ? hs_error__set(error, ENOMEM, "out of memory")
                                                                         : 0;
}

static int add_touched(const struct hs_store *store, enum hs_events events, const struct hs_filter *filter,
                       const struct hs_query_control *control, struct hs_total *all, size_t nodes,
                       struct hs_error *error)
{
    struct hs_filter of_events = hs_events__filter(events, filter);
    struct hs_touching *touching = hs_touching__create(store);
    struct samples_adding adding = {touching, all, nodes};
    if (!touching)
        return hs_error__set(error, ENOMEM, "out of memory");
    int result = hs_query__each(store, &of_events, control, add_block, &adding, error);
    hs_touching__destroy(touching);
    return result;
}

// Stacks without anything are left out.
static void finish(struct hs_total *all, size_t nodes, struct hs_totals *totals)
{
    *totals = (struct hs_totals){.total = all, .sum = {.first_time = UINT64_MAX}};
    for (size_t stack = 0; stack < nodes; stack++) {
        struct hs_total *total = &all[stack];
        if (!total->allocated_count && !total->live_count)
            continue;
        total->stack = (uint32_t)stack;
        hs_total__add(&totals->sum, total);
        all[totals->count++] = *total;
    }
}

int hs_query__event_totals(const struct hs_store *store, enum hs_events events, const struct hs_filter *filter,
                           const struct hs_query_control *control, struct hs_totals *totals, struct hs_error *error)
{
    size_t nodes;
    int result;
    if (events == HS_EVENTS_HEAP)
        return hs_query__totals(store, filter, control, totals, error);
    *totals = (struct hs_totals){0};
    hs_store__nodes(store, &nodes);
    nodes += !nodes; // there is always the empty stack
    struct hs_total *all = calloc(nodes, sizeof(*all));
    if (!all)
        return hs_error__set(error, ENOMEM, "out of memory");
    hs_query__explain(control, HS_ASKED_TOTALS, HS_BY_SAMPLES);
    if (hs_events__are_samples(events))
        result = add_samples(store, events, filter, all, error);
    else
        result = add_touched(store, events, filter, control, all, nodes, error);
    if (result)
        free(all);
    else
        finish(all, nodes, totals);
    return result;
}
