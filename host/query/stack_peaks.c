// SPDX-License-Identifier: MIT OR Apache-2.0
//
// When each stack held the most. Each zone says what its stacks had above what they had when it begins; the zones'
// words are put together in their order.
#include "host/query/scan.h"
#include "host/query/steps.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// Of a stack within a zone.
struct change {
    int64_t bytes; // since the zone began
    int64_t most;  // after an allocation
    uint64_t time; // of `most`
};

struct worker {
    struct change *change; // by stack; zeros where nothing happened
    uint32_t *stack;       // those where something happened
    size_t stacks, room;
    uint32_t begin[HS_ZONE_ROWS + 2]; // of the frees before each step
    struct hs_free *free;             // in the order of the steps
    size_t free_room;
};

struct work {
    struct hs_stepping stepping;
    struct worker *worker;
    size_t stacks;
    const int *cancel;
    // Zones are put together in order, each when its turn has come.
    pthread_mutex_t lock;
    pthread_cond_t next;
    size_t turn;
    bool failed;
    int64_t *live; // by stack
    struct hs_stack_peak *peak;
};

static int note_rows(void *argument, unsigned number, uint64_t first, uint64_t end)
{
    struct work *work = argument;
    struct hs_matcher *matcher = work->stepping.matchers[number];
    int failed = 0;
    for (uint64_t row = first; row < end && !failed; row += HS_PACKED_BLOCK) {
        hs_matcher__match(matcher, row / HS_PACKED_BLOCK);
        const uint64_t *free_time = hs_block__column(&matcher->block, HS_BLOCK_FREE_TIME);
        for (size_t i = 0; i < matcher->count && !failed; i++)
            if (free_time[matcher->place[i]] != HS_NEVER)
                failed = hs_stepping__note(&work->stepping, number, first / HS_ZONE_ROWS, hs_matcher__row(matcher, i),
                                           free_time[matcher->place[i]]);
    }
    return failed;
}

// ---- a zone
// --------------------------------------------------------------------------------------------------------

static int make_room(struct worker *worker, const struct hs_steps *steps)
{
    size_t stacks = steps->count + steps->frees;
    if (steps->frees > worker->free_room) {
        free(worker->free);
        worker->free_room = steps->frees + steps->frees / 4;
        worker->free = malloc(worker->free_room * sizeof(*worker->free));
    }
    if (stacks > worker->room) {
        free(worker->stack);
        worker->room = stacks + stacks / 4;
        worker->stack = malloc(worker->room * sizeof(*worker->stack));
    }
    if ((worker->free_room && !worker->free) || (worker->room && !worker->stack)) {
        worker->free_room = worker->room = 0;
        return -ENOMEM;
    }
    return 0;
}

// By the steps that they come before.
static void order_frees(struct worker *worker, const struct hs_steps *steps)
{
    uint32_t sum = 0;
    memset(worker->begin, 0, (steps->count + 2) * sizeof(*worker->begin));
    for (size_t i = 0; i < steps->frees; i++)
        worker->begin[steps->free[i].step]++;
    for (size_t i = 0; i < steps->count + 2; i++) {
        uint32_t count = worker->begin[i];
        worker->begin[i] = sum;
        sum += count;
    }
    for (size_t i = 0; i < steps->frees; i++)
        worker->free[worker->begin[steps->free[i].step]++] = steps->free[i];
    // Each begin has become the begin of the next.
    memmove(worker->begin + 1, worker->begin, (steps->count + 1) * sizeof(*worker->begin));
    worker->begin[0] = 0;
}

// Nothing has happened yet to a stack whose most was never set.
static struct change *change_of(const struct work *work, struct worker *worker, uint32_t *stack)
{
    if (*stack >= work->stacks)
        *stack = 0;
    struct change *change = &worker->change[*stack];
    if (change->most == INT64_MIN) {
        change->bytes = 0;
        change->most = INT64_MIN + 1;
        worker->stack[worker->stacks++] = *stack;
    }
    return change;
}

static void walk(const struct work *work, struct worker *worker, const struct hs_steps *steps)
{
    worker->stacks = 0;
    for (size_t i = 0; i <= steps->count; i++) {
        for (uint32_t k = worker->begin[i]; k < worker->begin[i + 1]; k++) {
            uint32_t stack = worker->free[k].stack;
            change_of(work, worker, &stack)->bytes -= (int64_t)worker->free[k].size;
        }
        if (i == steps->count)
            break;
        uint32_t stack = steps->stack[i];
        struct change *change = change_of(work, worker, &stack);
        change->bytes += (int64_t)steps->size[i];
        if (change->bytes > change->most) {
            change->most = change->bytes;
            change->time = steps->time[i];
        }
        change->bytes -= steps->ends_at_once[i] ? (int64_t)steps->size[i] : 0;
    }
}

static void put_together(struct work *work, struct worker *worker)
{
    for (size_t i = 0; i < worker->stacks; i++) {
        uint32_t stack = worker->stack[i];
        struct change *change = &worker->change[stack];
        struct hs_stack_peak *peak = &work->peak[stack];
        uint64_t most = (uint64_t)(work->live[stack] + change->most);
        if (change->most > INT64_MIN + 1 && (most > peak->bytes || peak->time == HS_NEVER))
            *peak = (struct hs_stack_peak){most, change->time};
        work->live[stack] += change->bytes;
        change->most = INT64_MIN;
    }
}

static bool is_cancelled(const struct work *work)
{
    return work->cancel && __atomic_load_n(work->cancel, __ATOMIC_RELAXED);
}

static int walk_zone(void *argument, unsigned number, uint64_t first, uint64_t end)
{
    struct work *work = argument;
    struct worker *worker = &work->worker[number];
    const struct hs_steps *steps = work->stepping.steps[number];
    size_t zone = first / HS_ZONE_ROWS;
    (void)end;
    int failed = is_cancelled(work) ? -ECANCELED : hs_stepping__read(&work->stepping, number, zone);
    if (!failed)
        failed = make_room(worker, steps);
    if (!failed) {
        order_frees(worker, steps);
        walk(work, worker, steps);
    }
    pthread_mutex_lock(&work->lock);
    while (work->turn != zone && !work->failed)
        pthread_cond_wait(&work->next, &work->lock);
    work->failed |= failed != 0;
    if (!work->failed)
        put_together(work, worker);
    work->turn++;
    pthread_cond_broadcast(&work->next);
    pthread_mutex_unlock(&work->lock);
    return failed;
}

// ---- all
// --------------------------------------------------------------------------------------------------------------

static int start(struct work *work, struct hs_stack_peaks *peaks)
{
    peaks->count = work->stacks;
    work->peak = peaks->peak = calloc(work->stacks + 1, sizeof(*peaks->peak));
    work->live = calloc(work->stacks + 1, sizeof(*work->live));
    work->worker = calloc(work->stepping.workers, sizeof(*work->worker));
    if (hs_stepping__start(&work->stepping) || !work->peak || !work->live || !work->worker)
        return -ENOMEM;
    for (size_t i = 0; i < work->stacks; i++)
        work->peak[i].time = HS_NEVER; // it has no row yet
    for (unsigned i = 0; i < work->stepping.workers; i++) {
        struct change *change = malloc((work->stacks + 1) * sizeof(*change));
        work->worker[i].change = change;
        for (size_t k = 0; change && k < work->stacks; k++)
            change[k].most = INT64_MIN;
        if (!change)
            return -ENOMEM;
    }
    return 0;
}

static void end(struct work *work)
{
    for (unsigned i = 0; work->worker && i < work->stepping.workers; i++) {
        free(work->worker[i].change);
        free(work->worker[i].stack);
        free(work->worker[i].free);
    }
    free(work->worker);
    free(work->live);
    hs_stepping__end(&work->stepping);
}

int hs_query__stack_peaks(const struct hs_store *store, const struct hs_query_control *control,
                          struct hs_stack_peaks *peaks, struct hs_error *error)
{
    struct hs_filter heap;
    struct work work = {.stepping = {.store = store,
                                     .filter = hs_filter__or_heap(NULL, &heap),
                                     .to = HS_NEVER - 1,
                                     .with_stacks = true,
                                     .workers = hs_scan__workers(store, control)},
                        .lock = PTHREAD_MUTEX_INITIALIZER,
                        .next = PTHREAD_COND_INITIALIZER};
    hs_store__nodes(store, &work.stacks);
    work.stacks += !work.stacks;
    *peaks = (struct hs_stack_peaks){0};
    if (hs_store__summary(store)->has_sums)
        return hs_query__refuse_sums(error);
    const struct hs_scan note = {store, &heap, control, work.stepping.workers, note_rows, &work};
    // No zone is left out by the scan itself: the others would wait for its turn.
    struct hs_query_control uncancelled = control ? *control : (struct hs_query_control){0};
    uncancelled.cancel = NULL;
    work.cancel = control ? control->cancel : NULL;
    const struct hs_scan walk = {store, NULL, &uncancelled, work.stepping.workers, walk_zone, &work};
    int failed = start(&work, peaks) ? hs_error__set(error, ENOMEM, "query: out of memory") : 0;
    if (!failed)
        failed = hs_scan__run(&note, error);
    if (!failed)
        failed = hs_scan__run(&walk, error);
    end(&work);
    for (size_t i = 0; !failed && i < work.stacks; i++)
        peaks->peak[i].time = peaks->peak[i].time == HS_NEVER ? 0 : peaks->peak[i].time;
    if (failed)
        hs_stack_peaks__free(peaks);
    return failed;
}

void hs_stack_peaks__free(struct hs_stack_peaks *peaks)
{
    free(peaks->peak);
    *peaks = (struct hs_stack_peaks){0};
}
