// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/beforehand.h"

#include "host/query/leave.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

// A list takes about two bytes for each row.
#define MOST_ROWS ((uint64_t)400000000)
// Whoever asks comes first.
#define NICENESS 10

struct hs_beforehand {
    const struct hs_store *store;
    void (*first)(void *context, const int *cancel);
    void *context;
    pthread_t thread;
    int cancel;
    // Each is set in one piece.
    struct hs_cells *cells;
    struct hs_dictionary *dictionary;
    struct hs_event_log *events;
    struct hs_ranking *ranking[HS_ROW_BY_LIFETIME + 1];
    struct hs_tally *tally[HS_ROW_BY_LIFETIME + 1];
};

static void make_log(struct hs_beforehand *beforehand, const struct hs_query_control *control)
{
    struct hs_dictionary *dictionary;
    struct hs_event_log *events;
    if (hs_dictionary__make(&dictionary, beforehand->store, control, NULL))
        return;
    __atomic_store_n(&beforehand->dictionary, dictionary, __ATOMIC_RELEASE);
    if (!hs_event_log__make(&events, dictionary, control, NULL))
        __atomic_store_n(&beforehand->events, events, __ATOMIC_RELEASE);
}

static void make_list(struct hs_beforehand *beforehand, enum hs_row_key key, const struct hs_query_control *control)
{
    struct hs_ranking *ranking;
    struct hs_tally *tally;
    if (hs_ranking__make(&ranking, beforehand->store, key, control, NULL))
        return;
    __atomic_store_n(&beforehand->ranking[key], ranking, __ATOMIC_RELEASE);
    if (beforehand->dictionary && !hs_tally__make(&tally, ranking, beforehand->dictionary, control, NULL))
        __atomic_store_n(&beforehand->tally[key], tally, __ATOMIC_RELEASE);
}

static void *make(void *argument)
{
    static const enum hs_row_key keys[] = {HS_ROW_BY_SIZE, HS_ROW_BY_ADDRESS, HS_ROW_BY_LIFETIME};
    struct hs_beforehand *beforehand = argument;
    const struct hs_query_control control = {.cancel = &beforehand->cancel};
    struct hs_cells *cells;
    beforehand->first(beforehand->context, &beforehand->cancel);
    // Without it all is made all the same.
    (void)!setpriority(PRIO_PROCESS, (id_t)gettid(), NICENESS);
    if (!hs_cells__make(&cells, beforehand->store, &control, NULL))
        __atomic_store_n(&beforehand->cells, cells, __ATOMIC_RELEASE);
    hs_columns__leave(hs_store__columns(beforehand->store), UINT64_MAX);
    make_log(beforehand, &control);
    hs_columns__leave(hs_store__columns(beforehand->store), UINT64_MAX);
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        make_list(beforehand, keys[i], &control);
        hs_columns__leave(hs_store__columns(beforehand->store), UINT64_MAX);
    }
    return NULL;
}

struct hs_beforehand *hs_beforehand__start(const struct hs_store *store,
                                           void (*first)(void *context, const int *cancel), void *context)
{
    const struct hs_summary *summary = hs_store__summary(store);
    if (summary->has_sums || summary->state == HS_STATE_RECORDING || hs_store__columns(store)->rows > MOST_ROWS)
        return NULL;
    struct hs_beforehand *beforehand = calloc(1, sizeof(*beforehand));
    if (!beforehand)
        return NULL;
    beforehand->store = store;
    beforehand->first = first;
    beforehand->context = context;
    if (!pthread_create(&beforehand->thread, NULL, make, beforehand))
        return beforehand;
    free(beforehand);
    return NULL;
}

void hs_beforehand__stop(struct hs_beforehand *beforehand)
{
    if (!beforehand)
        return;
    __atomic_store_n(&beforehand->cancel, 1, __ATOMIC_RELAXED);
    pthread_join(beforehand->thread, NULL);
    for (size_t i = 0; i <= HS_ROW_BY_LIFETIME; i++) {
        hs_tally__destroy(beforehand->tally[i]);
        hs_ranking__destroy(beforehand->ranking[i]);
    }
    hs_event_log__destroy(beforehand->events);
    hs_dictionary__destroy(beforehand->dictionary);
    hs_cells__destroy(beforehand->cells);
    free(beforehand);
}

const struct hs_cells *hs_beforehand__cells(const struct hs_beforehand *beforehand)
{
    return beforehand ? __atomic_load_n(&beforehand->cells, __ATOMIC_ACQUIRE) : NULL;
}

const struct hs_dictionary *hs_beforehand__dictionary(const struct hs_beforehand *beforehand)
{
    return beforehand ? __atomic_load_n(&beforehand->dictionary, __ATOMIC_ACQUIRE) : NULL;
}

const struct hs_event_log *hs_beforehand__events(const struct hs_beforehand *beforehand)
{
    return beforehand ? __atomic_load_n(&beforehand->events, __ATOMIC_ACQUIRE) : NULL;
}

const struct hs_ranking *hs_beforehand__ranking(const struct hs_beforehand *beforehand, enum hs_row_key key)
{
    return beforehand ? __atomic_load_n(&beforehand->ranking[key], __ATOMIC_ACQUIRE) : NULL;
}

const struct hs_tally *hs_beforehand__tally(const struct hs_beforehand *beforehand, enum hs_row_key key)
{
    return beforehand ? __atomic_load_n(&beforehand->tally[key], __ATOMIC_ACQUIRE) : NULL;
}

void hs_beforehand__leave(const struct hs_beforehand *beforehand)
{
    for (int key = 0; key <= HS_ROW_BY_LIFETIME; key++) {
        const struct hs_ranking *ranking = hs_beforehand__ranking(beforehand, (enum hs_row_key)key);
        if (ranking)
            hs_ranking__leave(ranking);
    }
}
