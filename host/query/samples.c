// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/samples.h"

#include "host/base/search.h"
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

static bool begins_before(const struct hs_thread *thread, uint32_t tid, uint64_t time)
{
    return thread->tid < tid || (thread->tid == tid && thread->start_time <= time);
}

const struct hs_thread *hs_sample_threads__find(const struct hs_sample_threads *threads, uint32_t tid, uint64_t time)
{
    // The first that is behind.
    const size_t low = HS_SEARCH(threads->count, i, begins_before(threads->thread[i], tid, time));
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

int hs_query__each_sample(const struct hs_store *store, enum hs_events events, const struct hs_filter *filter,
                          void (*visit)(void *context, const struct hs_sample *sample), void *context)
{
    struct matching matching;
    if (start_matching(&matching, store, events, filter))
        return -ENOMEM;
    for (size_t i = 0; i < matching.count; i++)
        if (matches(&matching, &matching.sample[i]))
            visit(context, &matching.sample[i]);
    hs_sample_threads__free(&matching.threads);
    return 0;
}
