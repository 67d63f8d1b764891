// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/samples.h"

#include "host/query/planner.h"
#include "host/query/scan.h"

#include <errno.h>
#include <stdlib.h>

bool hs_events__are_in(enum hs_events events, const struct hs_store *store)
{
    const struct hs_summary *summary = hs_store__summary(store);
    switch (events) {
    case HS_EVENTS_CPU:
        return summary->cpu_samples;
    case HS_EVENTS_OFF_CPU:
        return summary->off_cpu_samples;
    case HS_EVENTS_FAULTS:
        return summary->fault_stack_samples;
    case HS_EVENTS_TOUCHED:
    case HS_EVENTS_TOUCHED_MAPPINGS:
        return summary->faulted_bytes;
    default:
        return true;
    }
}

bool hs_events__were_looked_for(enum hs_events events, const struct hs_store *store)
{
    return events == HS_EVENTS_CPU && hs_store__info(store, "cpu-clock");
}

struct hs_filter hs_events__filter(enum hs_events events, const struct hs_filter *filter)
{
    struct hs_filter of_events;
    of_events = *hs_filter__or_heap(filter, &of_events);
    if (hs_events__are_touched(events))
        of_events.domains = events == HS_EVENTS_TOUCHED ? HS_FILTER_HEAP : HS_FILTER_MAP;
    return of_events;
}

// ---- threads -------------------------------------------------------------------------------------------------------

static int compare_threads(const void *left, const void *right)
{
    const struct hs_thread *a = *(const struct hs_thread *const *)left, *b = *(const struct hs_thread *const *)right;
    if (a->tid != b->tid)
        return a->tid < b->tid ? -1 : 1;
    if (a->start_time != b->start_time)
        return a->start_time < b->start_time ? -1 : 1;
    return (a > b) - (a < b);
}

int hs_sample_threads__make(struct hs_sample_threads *threads, const struct hs_store *store)
{
    const struct hs_thread *thread = hs_store__threads(store, &threads->count);
    threads->thread = calloc(threads->count + 1, sizeof(*threads->thread));
    if (!threads->thread)
        return -ENOMEM;
    for (size_t i = 0; i < threads->count; i++)
        threads->thread[i] = &thread[i];
    qsort(threads->thread, threads->count, sizeof(*threads->thread), compare_threads);
    return 0;
}

void hs_sample_threads__free(struct hs_sample_threads *threads)
{
    free(threads->thread);
    *threads = (struct hs_sample_threads){0};
}

const struct hs_thread *hs_sample_threads__find(const struct hs_sample_threads *threads, uint32_t tid, uint64_t time)
{
    size_t low = 0, high = threads->count; // the first that is behind
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct hs_thread *thread = threads->thread[middle];
        if (thread->tid > tid || (thread->tid == tid && thread->start_time > time))
            high = middle;
        else
            low = middle + 1;
    }
    if (low && threads->thread[low - 1]->tid == tid)
        return threads->thread[low - 1];
    // A thread is known from its first allocation on; it may have run before.
    return low < threads->count && threads->thread[low]->tid == tid ? threads->thread[low] : NULL;
}

// ---- which match ---------------------------------------------------------------------------------------------------

struct matching {
    const struct hs_filter *filter;
    struct hs_sample_threads threads; // when the filter asks for some
    const struct hs_sample *sample;
    size_t count, nodes;
    uint32_t kind;
};

static bool asks_threads(const struct hs_filter *filter)
{
    bool asks = filter->streams.words != NULL;
    for (uint32_t i = 0; i < filter->where_count && !asks; i++)
        asks = filter->where[i].join == HS_FILTER_IS && asks_threads(filter->where[i].filter);
    return asks;
}

static int start_matching(struct matching *matching, const struct hs_store *store, enum hs_events events,
                          const struct hs_filter *filter)
{
    static const uint32_t kinds[HS_EVENTS_COUNT] = {[HS_EVENTS_CPU] = HS_SAMPLE_CPU,
                                                    [HS_EVENTS_OFF_CPU] = HS_SAMPLE_OFF_CPU,
                                                    [HS_EVENTS_FAULTS] = HS_SAMPLE_FAULT_STACK};
    *matching = (struct matching){.filter = filter, .kind = kinds[events]};
    matching->sample = hs_store__samples(store, &matching->count);
    hs_store__nodes(store, &matching->nodes);
    return filter && asks_threads(filter) ? hs_sample_threads__make(&matching->threads, store) : 0;
}

static bool is_given_number(const struct hs_filter *filter, uint32_t tid)
{
    for (size_t i = 0; i < filter->tid_count; i++)
        if (filter->tids[i] == tid)
            return true;
    return false;
}

static bool thread_matches(const struct matching *matching, const struct hs_filter *filter,
                           const struct hs_sample *sample)
{
    if (!filter->streams.words || is_given_number(filter, sample->tid))
        return true;
    const struct hs_thread *thread = hs_sample_threads__find(&matching->threads, sample->tid, sample->time);
    return thread && hs_set__has(&filter->streams, thread->stream);
}

static bool filter_matches(const struct matching *matching, const struct hs_filter *filter,
                           const struct hs_sample *sample);

static bool node_matches(const struct matching *matching, const struct hs_filter_node *nodes, uint32_t number,
                         const struct hs_sample *sample)
{
    const struct hs_filter_node *node = &nodes[number];
    switch (node->join) {
    case HS_FILTER_IS:
        return filter_matches(matching, node->filter, sample);
    case HS_FILTER_NOT:
        return !node_matches(matching, nodes, node->left, sample);
    case HS_FILTER_AND:
        return node_matches(matching, nodes, node->left, sample) && node_matches(matching, nodes, node->right, sample);
    default:
        return node_matches(matching, nodes, node->left, sample) || node_matches(matching, nodes, node->right, sample);
    }
}

static bool filter_matches(const struct matching *matching, const struct hs_filter *filter,
                           const struct hs_sample *sample)
{
    return sample->time >= filter->time_min && sample->time <= filter->time_max &&
           hs_filter__has_time(filter, sample->time) &&
           (!filter->stacks.words || hs_set__has(&filter->stacks, sample->stack)) &&
           thread_matches(matching, filter, sample) &&
           (!filter->where || node_matches(matching, filter->where, filter->where_count - 1, sample));
}

static bool matches(const struct matching *matching, const struct hs_sample *sample)
{
    if (sample->kind != matching->kind || sample->stack >= matching->nodes + !matching->nodes)
        return false;
    return !matching->filter || filter_matches(matching, matching->filter, sample);
}

// ---- lists ---------------------------------------------------------------------------------------------------------

static int compare_samples(const void *left, const void *right)
{
    const struct hs_sample *a = *(const struct hs_sample *const *)left, *b = *(const struct hs_sample *const *)right;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return (a > b) - (a < b);
}

int hs_query__samples(const struct hs_store *store, enum hs_events events, const struct hs_filter *filter,
                      struct hs_sample_list *list, struct hs_error *error)
{
    struct matching matching;
    int failed = start_matching(&matching, store, events, filter);
    *list = (struct hs_sample_list){0};
    if (!failed)
        list->sample = calloc(matching.count + 1, sizeof(*list->sample));
    for (size_t i = 0; list->sample && i < matching.count; i++)
        if (matches(&matching, &matching.sample[i]))
            list->sample[list->count++] = &matching.sample[i];
    hs_sample_threads__free(&matching.threads);
    if (!list->sample)
        return hs_error__set(error, ENOMEM, "out of memory");
    qsort(list->sample, list->count, sizeof(*list->sample), compare_samples);
    return 0;
}

void hs_sample_list__free(struct hs_sample_list *list)
{
    free(list->sample);
    *list = (struct hs_sample_list){0};
}

// ---- sums by stack -------------------------------------------------------------------------------------------------

static void add_up(const struct matching *matching, struct hs_total *all)
{
    for (size_t i = 0; i < matching->count; i++) {
        const struct hs_sample *sample = &matching->sample[i];
        if (!matches(matching, sample))
            continue;
        struct hs_total *total = &all[sample->stack];
        if (!total->allocated_count || sample->time < total->first_time)
            total->first_time = sample->time;
        if (sample->time > total->last_time)
            total->last_time = sample->time;
        total->allocated_bytes += sample->weight;
        total->allocated_count++;
    }
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
    struct matching matching;
    if (start_matching(&matching, store, events, filter))
        return hs_error__set(error, ENOMEM, "out of memory");
    add_up(&matching, all);
    hs_sample_threads__free(&matching.threads);
    return 0;
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
