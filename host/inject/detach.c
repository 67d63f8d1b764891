// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/base/clock.h"
#include "host/inject/cave.h"
#include "host/inject/inject.h"
#include "host/inject/permission.h"
#include "host/inject/region.h"
#include "host/inject/stop.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum { END_SECONDS = 60 };

bool hs_inject__is_attached(pid_t pid)
{
    struct hs_inject_target target;
    struct hs_region region;
    bool found = !hs_inject_target__open(&target, pid, NULL) && !hs_inject_target__read_mappings(&target, NULL) &&
                 hs_region__find(&region, &target);
    hs_inject_target__close(&target);
    return found;
}

// An attach that was killed may have left a thread that starts the library.
static int stop_idle(struct hs_inject_target *target, const struct hs_region *region, struct hs_error *error)
{
    const struct timespec pause = {0, 1000000};
    uint64_t begun = hs_clock__now();
    do {
        int failed = hs_inject_stop__all(target, error);
        if (failed || !hs_region__is_in_use(region, target))
            return failed;
        hs_inject_target__let_go(target);
        nanosleep(&pause, NULL);
    } while (hs_clock__now() - begun < END_SECONDS * 1000000000ull);
    return hs_error__set(error, ETIMEDOUT, "the %s library still starts in process %d; try again later",
                         region->is_sampler ? "sampling" : "recording", (int)target->pid);
}

static int detach(struct hs_inject_target *target, struct hs_inject_result *result, struct hs_error *error)
{
    struct hs_region region;
    int failed = hs_inject_target__read_mappings(target, error);
    if (failed)
        return failed;
    if (!hs_region__find(&region, target))
        return hs_error__set(error, ENOENT, "process %d is neither recorded nor sampled by 'heapsonde attach'",
                             (int)target->pid);
    result->samples = region.is_sampler;
    failed = stop_idle(target, &region, error);
    if (failed)
        return failed;
    hs_cave__empty_all(target);
    result->threads = (unsigned)target->thread_count;
    int problem = hs_region__unpatch(&region, target, &result->patches);
    if (problem)
        return hs_inject_target__not_written(target, problem, error);
    hs_inject_target__let_go(target);
    result->pause_ns = hs_clock__now() - target->stopped_since;
    failed = hs_inject_stop__one(target, error);
    if (!failed)
        failed = hs_region__end(&region, target, error);
    hs_inject_target__let_go(target);
    return failed ? failed : hs_region__wait_for_end(&region, target, END_SECONDS, error);
}

int hs_inject__detach(pid_t pid, struct hs_inject_result *result, struct hs_error *error)
{
    struct hs_inject_target target;
    *result = (struct hs_inject_result){0};
    int failed = hs_permission__take(&target, pid, error);
    if (!failed)
        failed = detach(&target, result, error);
    hs_inject_target__close(&target);
    return failed;
}
