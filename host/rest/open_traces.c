// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/open_traces.h"

#include "host/base/clock.h"

#include <malloc.h>

struct hs_rest_traces_limits hs_rest_traces_limits = {
    .open = 128, .bytes = (uint64_t)512 << 20, .read = (uint64_t)4 << 20, .wait = 200 * HS_MILLISECOND};

// Under `lock`. The one that was used most recently is the newest.
static void unlink_open(struct hs_open_traces *traces, struct hs_rest_trace *trace)
{
    if (traces->newest != trace && !trace->newer)
        return;
    *(trace->older ? &trace->older->newer : &traces->oldest) = trace->newer;
    *(trace->newer ? &trace->newer->older : &traces->newest) = trace->older;
    trace->older = trace->newer = NULL;
    traces->count--;
}

void hs_open_traces__use(struct hs_rest_trace *trace)
{
    struct hs_open_traces *traces = trace->common->open;
    pthread_mutex_lock(&traces->lock);
    unlink_open(traces, trace);
    trace->older = traces->newest;
    *(traces->newest ? &traces->newest->newer : &traces->oldest) = trace;
    traces->newest = trace;
    traces->count++;
    pthread_mutex_unlock(&traces->lock);
}

void hs_open_traces__add(struct hs_rest_trace *trace)
{
    struct hs_open_traces *traces = trace->common->open;
    pthread_mutex_lock(&traces->lock);
    if (traces->newest != trace && !trace->newer) {
        trace->newer = traces->oldest;
        *(traces->oldest ? &traces->oldest->older : &traces->newest) = trace;
        traces->oldest = trace;
        traces->count++;
    }
    pthread_mutex_unlock(&traces->lock);
}

// Only the owner of the lock `reading` can turn an idle trace into one that is held for a question.
static bool is_idle(struct hs_rest_trace *trace)
{
    pthread_mutex_lock(&trace->lock);
    const bool idle = trace->now && trace->now->holders == 1;
    pthread_mutex_unlock(&trace->lock);
    return idle;
}

// Symbols and indexes, which grow without any question. Under `lock`.
static uint64_t bytes_of(struct hs_rest_trace *trace)
{
    pthread_mutex_lock(&trace->lock);
    const uint64_t bytes = trace->now ? hs_indexes__bytes(trace->now->indexes) : 0;
    pthread_mutex_unlock(&trace->lock);
    return bytes + __atomic_load_n(&trace->bytes, __ATOMIC_RELAXED);
}

static bool is_too_large_alone(struct hs_rest_trace *trace)
{
    return bytes_of(trace) > hs_rest_traces_limits.bytes;
}

// If closing others cannot make room for a trace, it is not counted.
static bool are_bytes_too_many(const struct hs_open_traces *traces)
{
    uint64_t bytes = 0;
    for (struct hs_rest_trace *trace = traces->oldest; trace; trace = trace->newer)
        if (!is_too_large_alone(trace) || (trace != traces->newest && is_idle(trace)))
            bytes += bytes_of(trace);
    return bytes > hs_rest_traces_limits.bytes;
}

// The idle trace that was not used for longest, with its `reading` locked. Never the newest one.
static struct hs_rest_trace *lock_idle(struct hs_open_traces *traces, bool (*is_wanted)(struct hs_rest_trace *trace))
{
    for (struct hs_rest_trace *trace = traces->oldest; trace && trace != traces->newest; trace = trace->newer) {
        if ((is_wanted && !is_wanted(trace)) || pthread_mutex_trylock(&trace->reading))
            continue;
        if (is_idle(trace))
            return trace;
        pthread_mutex_unlock(&trace->reading);
    }
    return NULL;
}

// One to close if there are too many. One that is too large alone goes first: without it, the others may stay.
static struct hs_rest_trace *take_idle(struct hs_open_traces *traces)
{
    struct hs_rest_trace *trace = NULL;
    pthread_mutex_lock(&traces->lock);
    const bool are_too_large = are_bytes_too_many(traces);
    if (are_too_large)
        trace = lock_idle(traces, is_too_large_alone);
    if (!trace && (are_too_large || traces->count > hs_rest_traces_limits.open))
        trace = lock_idle(traces, NULL);
    if (trace)
        unlink_open(traces, trace);
    pthread_mutex_unlock(&traces->lock);
    return trace;
}

// Else what was free between blocks of other traces stays resident.
static void give_memory_back(uint64_t bytes)
{
    if (bytes < (uint64_t)1 << 20)
        return;
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

void hs_open_traces__close_idle(struct hs_open_traces *traces)
{
    struct hs_rest_trace *trace;
    while ((trace = take_idle(traces))) {
        struct hs_rest_state *state = trace->now;
        const uint64_t bytes = hs_indexes__bytes(state->indexes) + __atomic_load_n(&trace->bytes, __ATOMIC_RELAXED);
        hs_trace_facts__release(hs_rest_trace__hold_facts(trace));
        pthread_mutex_lock(&trace->lock);
        trace->now = NULL;
        __atomic_store_n(&trace->bytes, 0, __ATOMIC_RELAXED);
        pthread_mutex_unlock(&trace->lock);
        pthread_mutex_unlock(&trace->reading);
        hs_cache__forget(traces->cache, state->key);
        hs_rest_trace__let_go(state);
        give_memory_back(bytes);
    }
}

void hs_rest_state__release(const struct hs_rest_state *held)
{
    struct hs_rest_state *state = (struct hs_rest_state *)(uintptr_t)held;
    struct hs_rest_trace *trace = state->trace;
    const uint64_t bytes = hs_trace_symbols__bytes(state->symbols);
    pthread_mutex_lock(&trace->lock);
    if (trace->now == state && bytes)
        __atomic_store_n(&trace->bytes, bytes, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&trace->lock);
    hs_rest_trace__let_go(state);
    hs_open_traces__close_idle(trace->common->open);
}

int hs_rest_trace__hold(struct hs_rest_trace *trace, const struct hs_rest_state **state, struct hs_error *error)
{
    pthread_mutex_lock(&trace->reading);
    int result = hs_rest_trace__refresh(trace, true, error);
    struct hs_rest_state *held = result ? NULL : hs_rest_trace__hold_now(trace);
    pthread_mutex_unlock(&trace->reading);
    if (held)
        hs_open_traces__use(trace);
    *state = held;
    return result;
}

size_t hs_open_traces__count(struct hs_open_traces *traces)
{
    pthread_mutex_lock(&traces->lock);
    const size_t count = traces->count;
    pthread_mutex_unlock(&traces->lock);
    return count;
}
