// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/prof/dump.h"
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
WEAK int hs_dump__final(void)
{
    return 0;
}
WEAK void hs_dump__consider(uint64_t a, uint64_t b)
{
    (void)a;
    (void)b;
}
WEAK bool hs_dump__watches(void)
{
    return false;
}
WEAK void hs_dump__before_fork(void)
{
}
WEAK void hs_dump__after_fork(bool c)
{
    (void)c;
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
WEAK int hs_dump__automatic(enum hs_dump_kind k, char *n)
{
    (void)k;
    (void)n;
    return 38;
}
WEAK int hs_dump__to_file(const char *p, enum hs_dump_format f)
{
    (void)p;
    (void)f;
    return 38;
}
WEAK int hs_dump__to_descriptor(int d, enum hs_dump_format f)
{
    (void)d;
    (void)f;
    return 38;
}
