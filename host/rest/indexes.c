// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/indexes.h"

#include "host/query/drop_pages.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

// A list takes about two bytes for each row.
#define MOST_ROWS ((uint64_t)400000000)
// Requests have priority over making indexes.
#define NICENESS 10

struct hs_indexes {
    const struct hs_store *store;
    void (*first)(void *context, const int *cancel);
    void *context;
    pthread_t thread;
    int cancel;
    // Each is set in one piece.
    struct hs_rollups *rollups;
    struct hs_dictionary *dictionary;
    struct hs_event_log *events;
    struct hs_sorted_index *sorted_index[HS_ROW_BY_LIFETIME + 1];
    struct hs_rank_counts *rank_counts[HS_ROW_BY_LIFETIME + 1];
};

static void make_log(struct hs_indexes *indexes, const struct hs_query_control *control)
{
    struct hs_dictionary *dictionary;
    struct hs_event_log *events;
    if (hs_dictionary__make(&dictionary, indexes->store, control, NULL))
        return;
    __atomic_store_n(&indexes->dictionary, dictionary, __ATOMIC_RELEASE);
    if (!hs_event_log__make(&events, dictionary, control, NULL))
        __atomic_store_n(&indexes->events, events, __ATOMIC_RELEASE);
}

static void make_list(struct hs_indexes *indexes, enum hs_row_key key, const struct hs_query_control *control)
{
    struct hs_sorted_index *sorted_index;
    struct hs_rank_counts *rank_counts;
    if (hs_sorted_index__make(&sorted_index, indexes->store, key, control, NULL))
        return;
    __atomic_store_n(&indexes->sorted_index[key], sorted_index, __ATOMIC_RELEASE);
    if (indexes->dictionary && !hs_rank_counts__make(&rank_counts, sorted_index, indexes->dictionary, control, NULL))
        __atomic_store_n(&indexes->rank_counts[key], rank_counts, __ATOMIC_RELEASE);
}

static void *make(void *argument)
{
    static const enum hs_row_key keys[] = {HS_ROW_BY_SIZE, HS_ROW_BY_ADDRESS, HS_ROW_BY_LIFETIME};
    struct hs_indexes *indexes = argument;
    const struct hs_query_control control = {.cancel = &indexes->cancel};
    struct hs_rollups *rollups;
    indexes->first(indexes->context, &indexes->cancel);
    // Without it all is made all the same.
    (void)!setpriority(PRIO_PROCESS, (id_t)gettid(), NICENESS);
    if (!hs_rollups__make(&rollups, indexes->store, &control, NULL))
        __atomic_store_n(&indexes->rollups, rollups, __ATOMIC_RELEASE);
    hs_columns__drop_pages(hs_store__columns(indexes->store), UINT64_MAX);
    make_log(indexes, &control);
    hs_columns__drop_pages(hs_store__columns(indexes->store), UINT64_MAX);
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        make_list(indexes, keys[i], &control);
        hs_columns__drop_pages(hs_store__columns(indexes->store), UINT64_MAX);
    }
    return NULL;
}

struct hs_indexes *hs_indexes__start(const struct hs_store *store, void (*first)(void *context, const int *cancel),
                                     void *context)
{
    const struct hs_summary *summary = hs_store__summary(store);
    if (summary->is_aggregate || summary->state == HS_STATE_RECORDING || hs_store__columns(store)->rows > MOST_ROWS)
        return NULL;
    struct hs_indexes *indexes = calloc(1, sizeof(*indexes));
    if (!indexes)
        return NULL;
    indexes->store = store;
    indexes->first = first;
    indexes->context = context;
    if (!pthread_create(&indexes->thread, NULL, make, indexes))
        return indexes;
    free(indexes);
    return NULL;
}

void hs_indexes__stop(struct hs_indexes *indexes)
{
    if (!indexes)
        return;
    __atomic_store_n(&indexes->cancel, 1, __ATOMIC_RELAXED);
    pthread_join(indexes->thread, NULL);
    for (size_t i = 0; i <= HS_ROW_BY_LIFETIME; i++) {
        hs_rank_counts__destroy(indexes->rank_counts[i]);
        hs_sorted_index__destroy(indexes->sorted_index[i]);
    }
    hs_event_log__destroy(indexes->events);
    hs_dictionary__destroy(indexes->dictionary);
    hs_rollups__destroy(indexes->rollups);
    free(indexes);
}

const struct hs_rollups *hs_indexes__rollups(const struct hs_indexes *indexes)
{
    return indexes ? __atomic_load_n(&indexes->rollups, __ATOMIC_ACQUIRE) : NULL;
}

const struct hs_dictionary *hs_indexes__dictionary(const struct hs_indexes *indexes)
{
    return indexes ? __atomic_load_n(&indexes->dictionary, __ATOMIC_ACQUIRE) : NULL;
}

const struct hs_event_log *hs_indexes__events(const struct hs_indexes *indexes)
{
    return indexes ? __atomic_load_n(&indexes->events, __ATOMIC_ACQUIRE) : NULL;
}

const struct hs_sorted_index *hs_indexes__sorted_index(const struct hs_indexes *indexes, enum hs_row_key key)
{
    return indexes ? __atomic_load_n(&indexes->sorted_index[key], __ATOMIC_ACQUIRE) : NULL;
}

const struct hs_rank_counts *hs_indexes__rank_counts(const struct hs_indexes *indexes, enum hs_row_key key)
{
    return indexes ? __atomic_load_n(&indexes->rank_counts[key], __ATOMIC_ACQUIRE) : NULL;
}

void hs_indexes__drop_pages(const struct hs_indexes *indexes)
{
    for (int key = 0; key <= HS_ROW_BY_LIFETIME; key++) {
        const struct hs_sorted_index *sorted_index = hs_indexes__sorted_index(indexes, (enum hs_row_key)key);
        if (sorted_index)
            hs_sorted_index__drop_pages(sorted_index);
    }
}
