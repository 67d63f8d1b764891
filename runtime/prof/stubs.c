// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/prof/events.h"
#include "runtime/prof/options.h"
#include "runtime/prof/size_classes.h"
#define WEAK __attribute__((weak))
WEAK struct hs_prof_options hs_prof_options;
WEAK void hs_prof_options__begin(void)
{
    hs_prof_options.prof = hs_prof_options.active = hs_prof_options.thread_active_init = hs_prof_options.unbias = true;
    hs_prof_options.lg_sample = 19;
    hs_prof_options.sample_bytes = 1 << 19;
    hs_prof_options.max_frames = 128;
}
WEAK _Atomic bool hs_events_wanted, hs_events_want_free_stacks;
WEAK void hs_events__allocated(struct hs_sample *s, const struct hs_sampler_thread *t, uint32_t k)
{
    (void)s;
    (void)t;
    (void)k;
}
WEAK void hs_events__released(const struct hs_sample *s, const struct hs_sampler_thread *t, uint32_t k)
{
    (void)s;
    (void)t;
    (void)k;
}
WEAK void hs_events__forget(void)
{
}
WEAK uint64_t hs_size_class(uint64_t s)
{
    return s;
}
