// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/import/most_live.h"

#include "format/event.h"
#include "host/import/step.h"

#include <errno.h>

struct most_live_counting {
    uint64_t live, most;
    const int *cancel;
};

static bool begins_one(const struct hs_step *step)
{
    return step->address && step->phase == HS_PHASE_END &&
           ((step->kind >= HS_EVENT_MALLOC && step->kind <= HS_EVENT_REALLOC) || step->kind == HS_EVENT_POOL_ALLOC);
}

static bool ends_one(const struct hs_step *step)
{
    return step->address &&
           (step->kind == HS_EVENT_FREE || step->kind == HS_EVENT_POOL_FREE || step->phase == HS_PHASE_BEGIN);
}

static int count_steps(void *context, struct hs_step *steps, size_t count)
{
    struct most_live_counting *counting = context;
    for (size_t i = 0; i < count; i++) {
        if (begins_one(&steps[i]))
            counting->live++;
        else if (ends_one(&steps[i]) && counting->live)
            counting->live--;
        counting->most = counting->live > counting->most ? counting->live : counting->most;
    }
    return counting->cancel && __atomic_load_n(counting->cancel, __ATOMIC_RELAXED) ? -ECANCELED : 0;
}

uint64_t hs_trace__most_live(const struct hs_trace *trace, const int *cancel)
{
    struct most_live_counting counting = {.cancel = cancel};
    struct hs_replay_counts counts;
    return hs_trace__replay_steps(trace, count_steps, &counting, &counts) ? 0 : counting.most;
}
