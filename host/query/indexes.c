// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/indexes.h"

#include "host/query/drop_pages.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

// A list takes about two bytes for each row.
#define MOST_ROWS ((uint64_t)400000000)
// Requests have priority over making indexes.
#define NICENESS 10

struct indexes_making {
    struct hs_indexes public;
    void (*first)(void *context, const int *cancel);
    void *context;
    pthread_t thread;
    int cancel;
    unsigned done;  // steps; atomic
    uint64_t bytes; // under the lock of `all`
};

struct hs_indexes_limits hs_indexes_limits = {(uint64_t)512 << 20, 2};

// The indexes of all stores.
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t bytes;
    unsigned making;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

#define PUBLISH(place, index) __atomic_store_n(&(place), index, __ATOMIC_RELEASE)

static void make_log(struct hs_indexes *indexes, const struct hs_query_control *control)
{
    struct hs_dictionary *dictionary;
    struct hs_event_log *events;
    if (hs_dictionary__make(&dictionary, indexes->store, control, NULL))
        return;
    PUBLISH(indexes->dictionary, dictionary);
    if (!hs_event_log__make(&events, dictionary, control, NULL))
        PUBLISH(indexes->events, events);
}

static void make_list(struct hs_indexes *indexes, enum hs_row_key key, const struct hs_query_control *control)
{
    struct hs_sorted_index *sorted_index;
    struct hs_rank_counts *rank_counts;
    if (hs_sorted_index__make(&sorted_index, indexes->store, key, control, NULL))
        return;
    PUBLISH(indexes->sorted_index[key], sorted_index);
    if (indexes->dictionary && !hs_rank_counts__make(&rank_counts, sorted_index, indexes->dictionary, control, NULL))
        PUBLISH(indexes->rank_counts[key], rank_counts);
}

static uint64_t bytes_of(const struct hs_indexes *indexes)
{
    uint64_t bytes = 0;
    if (indexes->rollups)
        bytes += hs_rollups__bytes(indexes->rollups);
    if (indexes->dictionary)
        bytes += hs_dictionary__bytes(indexes->dictionary);
    if (indexes->events)
        bytes += hs_event_log__bytes(indexes->events);
    for (size_t i = 0; i <= HS_ROW_BY_LIFETIME; i++) {
        if (indexes->sorted_index[i])
            bytes += hs_sorted_index__bytes(indexes->sorted_index[i]);
        if (indexes->rank_counts[i])
            bytes += hs_rank_counts__bytes(indexes->rank_counts[i]);
    }
    return bytes;
}

// Waits until there is room for another index. False: making indexes was stopped.
static bool begin(struct indexes_making *making)
{
    pthread_mutex_lock(&all.lock);
    while (!making->cancel &&
           (all.making >= hs_indexes_limits.at_once || all.bytes - making->bytes > hs_indexes_limits.bytes))
        pthread_cond_wait(&all.changed, &all.lock);
    const bool goes_on = !making->cancel;
    if (goes_on)
        all.making++;
    pthread_mutex_unlock(&all.lock);
    return goes_on;
}

static void end_step(struct indexes_making *making)
{
    __atomic_fetch_add(&making->done, 1, __ATOMIC_RELAXED);
}

static void end(struct indexes_making *making)
{
    const uint64_t bytes = bytes_of(&making->public);
    pthread_mutex_lock(&all.lock);
    all.making--;
    all.bytes += bytes - making->bytes;
    making->bytes = bytes;
    pthread_cond_broadcast(&all.changed);
    pthread_mutex_unlock(&all.lock);
    hs_columns__drop_pages(hs_store__columns(making->public.store), UINT64_MAX);
    end_step(making);
}

static const enum hs_row_key keys[] = {HS_ROW_BY_SIZE, HS_ROW_BY_ADDRESS, HS_ROW_BY_LIFETIME};
#define KEYS (sizeof(keys) / sizeof(*keys))

static void *make(void *argument)
{
    struct indexes_making *making = argument;
    struct hs_indexes *indexes = &making->public;
    const struct hs_query_control control = {.cancel = &making->cancel};
    struct hs_rollups *rollups;
    making->first(making->context, &making->cancel);
    end_step(making);
    // Without it all is made all the same.
    (void)!setpriority(PRIO_PROCESS, (id_t)gettid(), NICENESS);
    if (!begin(making))
        return NULL;
    if (!hs_rollups__make(&rollups, indexes->store, &control, NULL))
        PUBLISH(indexes->rollups, rollups);
    end(making);
    if (!begin(making))
        return NULL;
    make_log(indexes, &control);
    end(making);
    for (size_t i = 0; i < KEYS && begin(making); i++) {
        make_list(indexes, keys[i], &control);
        end(making);
    }
    return NULL;
}

struct hs_indexes *hs_indexes__start(const struct hs_store *store, void (*first)(void *context, const int *cancel),
                                     void *context)
{
    const struct hs_summary *summary = hs_store__summary(store);
    if (summary->is_aggregate || summary->state == HS_STATE_RECORDING || hs_store__columns(store)->rows > MOST_ROWS)
        return NULL;
    struct indexes_making *making = calloc(1, sizeof(*making));
    if (!making)
        return NULL;
    *making = (struct indexes_making){.public = {.store = store}, .first = first, .context = context};
    if (!pthread_create(&making->thread, NULL, make, making))
        return &making->public;
    free(making);
    return NULL;
}

void hs_indexes__stop(struct hs_indexes *indexes)
{
    struct indexes_making *making = (struct indexes_making *)indexes;
    if (!making)
        return;
    pthread_mutex_lock(&all.lock);
    __atomic_store_n(&making->cancel, 1, __ATOMIC_RELAXED);
    pthread_cond_broadcast(&all.changed);
    pthread_mutex_unlock(&all.lock);
    pthread_join(making->thread, NULL);
    for (size_t i = 0; i <= HS_ROW_BY_LIFETIME; i++) {
        hs_rank_counts__destroy(indexes->rank_counts[i]);
        hs_sorted_index__destroy(indexes->sorted_index[i]);
    }
    hs_event_log__destroy(indexes->events);
    hs_dictionary__destroy(indexes->dictionary);
    hs_rollups__destroy(indexes->rollups);
    pthread_mutex_lock(&all.lock);
    all.bytes -= making->bytes;
    pthread_cond_broadcast(&all.changed);
    pthread_mutex_unlock(&all.lock);
    free(making);
}

uint64_t hs_indexes__bytes(const struct hs_indexes *indexes)
{
    const struct indexes_making *making = (const struct indexes_making *)indexes;
    uint64_t bytes = 0;
    if (making) {
        pthread_mutex_lock(&all.lock);
        bytes = making->bytes;
        pthread_mutex_unlock(&all.lock);
    }
    return bytes;
}

struct hs_indexes_progress hs_indexes__progress(const struct hs_indexes *indexes)
{
    const struct indexes_making *making = (const struct indexes_making *)indexes;
    // `first`, the rollups, the event log, the lists.
    return making ? (struct hs_indexes_progress){__atomic_load_n(&making->done, __ATOMIC_RELAXED), 3 + KEYS}
                  : (struct hs_indexes_progress){0, 0};
}

void hs_indexes__drop_pages(const struct hs_indexes *indexes)
{
    for (int key = 0; indexes && key <= HS_ROW_BY_LIFETIME; key++) {
        const struct hs_sorted_index *sorted_index = hs_index__load(indexes->sorted_index[key]);
        if (sorted_index)
            hs_sorted_index__drop_pages(sorted_index);
    }
}
