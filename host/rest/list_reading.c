// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/list_reading.h"

#include "host/base/clock.h"
#include "host/rest/open_traces.h"

#include <stddef.h>
#include <time.h>

#define STEP_NS 1000000

// Locks `reading`, unless a state is being read.
static bool lock_at_once(struct hs_rest_trace *trace)
{
    const struct timespec step = {.tv_nsec = STEP_NS};
    while (pthread_mutex_trylock(&trace->reading)) {
        if (__atomic_load_n(&trace->is_read, __ATOMIC_ACQUIRE))
            return false;
        nanosleep(&step, NULL);
    }
    return true;
}

struct hs_rest_wait_budget hs_rest_wait_budget__of_list(void)
{
    return (struct hs_rest_wait_budget){hs_rest_traces_limits.read, hs_clock__now() + hs_rest_traces_limits.wait};
}

// The size of a folder says nothing about the dumps in it.
static bool is_worth_waiting(struct hs_rest_wait_budget *budget, const struct hs_rest_trace *trace,
                             const struct hs_file_stamp *stamp)
{
    if (hs_rest_trace__is_folder_of_dumps(trace) || (uint64_t)stamp->size > budget->bytes)
        return false;
    budget->bytes -= (uint64_t)stamp->size;
    return true;
}

static void read_in_background(struct hs_background_thing *thing)
{
    struct hs_rest_trace *trace = (void *)((char *)thing - offsetof(struct hs_rest_trace, again));
    struct hs_error error = {""};
    pthread_mutex_lock(&trace->reading);
    hs_rest_trace__refresh(trace, false, &error);
    hs_trace_facts__release(hs_rest_trace__hold_facts(trace));
    if (trace->now)
        hs_open_traces__add(trace);
    pthread_mutex_lock(&trace->lock);
    trace->again_error = error;
    pthread_mutex_unlock(&trace->lock);
    pthread_mutex_unlock(&trace->reading);
    hs_open_traces__close_idle(trace->common->open);
}

const struct hs_trace_facts *hs_rest_trace__facts(struct hs_rest_trace *trace, struct hs_rest_wait_budget *budget,
                                                  struct hs_error *error)
{
    struct hs_file_stamp stamp;
    if (!lock_at_once(trace)) {
        hs_rest_trace__check_file(trace, error);
        return hs_rest_trace__hold_facts(trace);
    }
    const bool needed = hs_rest_trace__needs_reading(trace, false, &stamp, error) > 0;
    const bool waits = needed && is_worth_waiting(budget, trace, &stamp);
    if (waits)
        hs_rest_trace__read(trace, &stamp, error);
    struct hs_trace_facts *facts = hs_rest_trace__hold_facts(trace);
    if (trace->now)
        hs_open_traces__add(trace);
    pthread_mutex_unlock(&trace->reading);
    hs_open_traces__close_idle(trace->common->open);
    if (!needed || waits)
        return facts;
    hs_trace_facts__release(facts);
    hs_background__ask(trace->common->background, &trace->again, budget->until);
    pthread_mutex_lock(&trace->lock);
    *error = trace->again_error;
    pthread_mutex_unlock(&trace->lock);
    return hs_rest_trace__hold_facts(trace);
}

struct hs_background *hs_list_reading__start(void)
{
    return hs_background__create(read_in_background);
}
