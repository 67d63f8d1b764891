// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the shim and the other modules of the profiler would provide.
#include "tests/sampler/program_side.h"
#include "runtime/prof/dump.h"
#include "runtime/prof/events.h"
#include "runtime/prof/size_classes.h"

struct hs_prof_options hs_prof_options;
uint64_t test_sample_bytes = 1, test_seed = 1;
bool test_accum;
_Atomic bool hs_events_wanted, hs_events_want_free_stacks;

void hs_prof_options__begin(void)
{
    hs_prof_options.prof = hs_prof_options.active = hs_prof_options.thread_active_init = hs_prof_options.unbias = true;
    hs_prof_options.sample_bytes = test_sample_bytes;
    hs_prof_options.seed = test_seed;
    hs_prof_options.accum = test_accum;
}

bool hs_dump__watches(void)
{
    return false;
}

void hs_dump__consider(uint64_t allocated, uint64_t live)
{
    (void)allocated;
    (void)live;
}

void hs_dump__before_fork(void)
{
}

void hs_dump__after_fork(bool in_child)
{
    (void)in_child;
}

void hs_events__allocated(struct hs_sample *sample, const struct hs_sampler_thread *thread, uint32_t stack)
{
    (void)sample;
    (void)thread;
    (void)stack;
}

void hs_events__released(const struct hs_sample *sample, const struct hs_sampler_thread *thread, uint32_t stack)
{
    (void)sample;
    (void)thread;
    (void)stack;
}

void hs_events__forget(void)
{
}

uint64_t hs_size_class(uint64_t size)
{
    return size;
}
