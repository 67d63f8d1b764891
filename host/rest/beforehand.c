// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/beforehand.h"

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
    pthread_t thread;
    int cancel;
    // Each is set in one piece.
    struct hs_cells *cells;
    struct hs_ranking *ranking[HS_ROW_BY_LIFETIME + 1];
};

static void *make(void *argument)
{
    static const enum hs_row_key keys[] = {HS_ROW_BY_SIZE, HS_ROW_BY_ADDRESS, HS_ROW_BY_LIFETIME};
    struct hs_beforehand *beforehand = argument;
    const struct hs_query_control control = {.cancel = &beforehand->cancel};
    struct hs_cells *cells;
    struct hs_ranking *made;
    // Without it all is made all the same.
    (void)!setpriority(PRIO_PROCESS, (id_t)gettid(), NICENESS);
    if (!hs_cells__make(&cells, beforehand->store, &control, NULL))
        __atomic_store_n(&beforehand->cells, cells, __ATOMIC_RELEASE);
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
        if (!hs_ranking__make(&made, beforehand->store, keys[i], &control, NULL))
            __atomic_store_n(&beforehand->ranking[keys[i]], made, __ATOMIC_RELEASE);
    return NULL;
}

struct hs_beforehand *hs_beforehand__start(const struct hs_store *store)
{
    const struct hs_summary *summary = hs_store__summary(store);
    if (summary->has_sums || summary->state == HS_STATE_RECORDING || hs_store__columns(store)->rows > MOST_ROWS)
        return NULL;
    struct hs_beforehand *beforehand = calloc(1, sizeof(*beforehand));
    if (!beforehand)
        return NULL;
    beforehand->store = store;
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
    for (size_t i = 0; i < sizeof(beforehand->ranking) / sizeof(*beforehand->ranking); i++)
        hs_ranking__destroy(beforehand->ranking[i]);
    hs_cells__destroy(beforehand->cells);
    free(beforehand);
}

const struct hs_cells *hs_beforehand__cells(const struct hs_beforehand *beforehand)
{
    return beforehand ? __atomic_load_n(&beforehand->cells, __ATOMIC_ACQUIRE) : NULL;
}

const struct hs_ranking *hs_beforehand__ranking(const struct hs_beforehand *beforehand, enum hs_row_key key)
{
    return beforehand ? __atomic_load_n(&beforehand->ranking[key], __ATOMIC_ACQUIRE) : NULL;
}
