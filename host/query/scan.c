// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/scan.h"

#include "host/base/check.h"
#include "host/base/clock.h"
#include "host/query/drop_pages.h"
#include "host/query/scan_scheduler.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define WORKERS_MAX           64
#define HELPERS_PER_PROCESSOR 2

struct pool {
    const struct hs_scan *scan;
    const struct hs_zone *zones;
    size_t zone_count;
    uint64_t rows;
    atomic_size_t next;
    atomic_size_t done;
    atomic_int result;
    atomic_ullong used; // ns of the processor
};

struct scan_worker {
    struct pool *pool;
    unsigned number;
    pthread_t thread;
};

unsigned hs_scan__workers(const struct hs_store *store, const struct hs_query_control *control)
{
    size_t zones;
    hs_store__zones(store, &zones);
    long processors = control && control->threads ? (long)control->threads : sysconf(_SC_NPROCESSORS_ONLN);
    unsigned workers = processors < 1 ? 1 : processors > WORKERS_MAX ? WORKERS_MAX : (unsigned)processors;
    return workers > zones ? zones ? (unsigned)zones : 1 : workers;
}

static int check_cancel(const struct hs_scan *scan)
{
    const int *cancel = scan->control ? scan->control->cancel : NULL;
    return cancel && __atomic_load_n(cancel, __ATOMIC_RELAXED) ? -ECANCELED : 0;
}

// Zones that are left at once, and those that stay: most blocks are freed soon, and then looked at once more. In all a
// few tens of MB.
#define LEFT_AT_ONCE 32
#define STAYING      32

void hs_scan__drop_pages_behind(const struct hs_store *store, const struct hs_query_control *control, uint64_t zone)
{
    if (control && control->drops_pages && zone >= STAYING)
        hs_columns__drop_pages(hs_store__columns(store), (zone - STAYING) * (HS_ZONE_ROWS / HS_PACKED_BLOCK));
}

static int do_zone(struct pool *pool, unsigned worker, size_t zone)
{
    const struct hs_scan *scan = pool->scan;
    int result = check_cancel(scan);
    uint64_t first = (uint64_t)zone * HS_ZONE_ROWS, end = first + HS_ZONE_ROWS;
    if (result)
        return result;
    if (scan->filter &&
        !hs_filter__zone_may_match(scan->filter, &pool->zones[zone], hs_store__summary(scan->store)->end_time))
        return 0;
    return scan->work(scan->context, worker, first, end < pool->rows ? end : pool->rows);
}

// A turn ends after this much CPU time, in ns. A scan that skips most of its zones needs few turns.
#define LONG_ENOUGH 1000000u

struct turn {
    bool is_taken;
    uint64_t since;
};

static void begin_turn(struct pool *pool, struct turn *turn)
{
    if (pool->scan->may_wait || turn->is_taken)
        return;
    const uint64_t done = atomic_load(&pool->done), behind = (uint64_t)pool->scan->behind * pool->zone_count;
    hs_scan_scheduler__acquire(
        hs_scan_scheduler__rank(atomic_load(&pool->used), done, pool->zone_count - done + behind));
    *turn = (struct turn){true, hs_clock__thread_cpu()};
}

static void end_turn(struct pool *pool, struct turn *turn)
{
    if (!turn->is_taken)
        return;
    atomic_fetch_add(&pool->used, hs_clock__thread_cpu() - turn->since);
    hs_scan_scheduler__release();
    turn->is_taken = false;
}

static void end_long_turn(struct pool *pool, struct turn *turn)
{
    if (turn->is_taken && hs_clock__thread_cpu() - turn->since >= LONG_ENOUGH)
        end_turn(pool, turn);
}

static void report_progress(struct pool *pool, uint64_t done, struct turn *turn)
{
    const struct hs_query_control *control = pool->scan->control;
    if (!control || !control->progress)
        return;
    end_turn(pool, turn);
    control->progress(control->context, done == pool->zone_count ? pool->rows : done * HS_ZONE_ROWS, pool->rows);
}

static void work(struct pool *pool, unsigned worker)
{
    struct turn turn = {0};
    size_t zone;
    while (!atomic_load_explicit(&pool->result, memory_order_relaxed) &&
           (zone = atomic_fetch_add(&pool->next, 1)) < pool->zone_count) {
        begin_turn(pool, &turn);
        int result = do_zone(pool, worker, zone), none = 0;
        if (result)
            atomic_compare_exchange_strong(&pool->result, &none, result);
        if (zone % LEFT_AT_ONCE == 0)
            hs_scan__drop_pages_behind(pool->scan->store, pool->scan->control, zone);
        uint64_t done = atomic_fetch_add(&pool->done, 1) + 1;
        HS_CHECK(done <= pool->zone_count);
        end_long_turn(pool, &turn);
        if (worker == 0)
            report_progress(pool, done, &turn);
    }
    end_turn(pool, &turn);
}

static void *work_thread(void *argument)
{
    struct scan_worker *worker = argument;
    work(worker->pool, worker->number);
    return NULL;
}

int hs_query__refuse_aggregate(struct hs_error *error)
{
    return hs_error__set(
        error, ENOTSUP,
        "the trace holds sums per stack (HEAPSONDE_MODE=aggregate, or a heap dump), without times, sizes, lifetimes "
        "and threads of single blocks; filter by stacks only");
}

// The number of helper threads of all questions. If many are asked at once, each question has only its own thread.
static atomic_uint helpers;

static bool start_helper(struct scan_worker *worker)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (atomic_fetch_add(&helpers, 1) < (unsigned)(processors < 1 ? 1 : processors) * HELPERS_PER_PROCESSOR &&
        !pthread_create(&worker->thread, NULL, work_thread, worker))
        return true;
    atomic_fetch_sub(&helpers, 1);
    return false;
}

int hs_scan__run(const struct hs_scan *scan, struct hs_error *error)
{
    struct scan_worker workers[WORKERS_MAX];
    struct pool pool = {.scan = scan, .rows = hs_store__columns(scan->store)->rows};
    unsigned started = 0;
    pool.zones = hs_store__zones(scan->store, &pool.zone_count);
    for (unsigned i = 1; i < scan->workers; i++) {
        workers[started] = (struct scan_worker){.pool = &pool, .number = i};
        // Without another thread the others do its share.
        started += start_helper(&workers[started]);
    }
    work(&pool, 0);
    for (unsigned i = 0; i < started; i++)
        pthread_join(workers[i].thread, NULL);
    atomic_fetch_sub(&helpers, started);
    int result = atomic_load(&pool.result);
    if (result < 0)
        hs_error__set(error, -result, "query: %s", result == -ECANCELED ? "cancelled" : strerror(-result));
    return result;
}
