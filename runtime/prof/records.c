// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/prof/records.h"

#include "arch/far.h"
#include "arch/system.h"
#include "runtime/prof/options.h"
#include "runtime/prof/pool.h"

static struct hs_pool pool HS_FAR;
_Atomic uint32_t hs_events_wanted;

void hs_records__want(uint32_t reader, bool wanted)
{
    uint32_t before = atomic_load_explicit(&hs_events_wanted, memory_order_relaxed);
    uint32_t after = wanted ? before | reader | HS_EVENTS_ENDS : before & ~reader;
    atomic_store_explicit(&hs_events_wanted, after, memory_order_relaxed);
}

struct hs_sampled_block *hs_records__at(uint32_t index)
{
    return hs_pool__at(HS_FAR_AT(pool), sizeof(struct hs_sampled_block), index);
}

uint64_t hs_records__now(void)
{
    struct hs_time now = {0, 0};
    hs_system_clock(hs_prof_options.time_high ? 0 : 6, &now); // CLOCK_REALTIME, CLOCK_MONOTONIC_COARSE
    return (uint64_t)now.seconds * 1000000000 + (uint64_t)now.nanoseconds;
}

static void fill_side(struct hs_record_side *side, const struct hs_sampler_thread *thread, uint32_t stack)
{
    side->time_ns = hs_records__now();
    side->thread = thread->uid;
    side->stack = stack;
    __builtin_memcpy(side->name, thread->name, sizeof side->name);
}

uint32_t hs_records__add(uint64_t requested, uint64_t usable, const struct hs_sampler_thread *thread, uint32_t stack)
{
    uint32_t index = hs_pool__allocate(HS_FAR_AT(pool), sizeof(struct hs_sampled_block));
    if (!index)
        return 0;
    struct hs_sampled_block *record = hs_records__at(index);
    record->used = record->live = true;
    record->requested = requested;
    record->usable = usable;
    fill_side(&record->allocated, thread, stack);
    return index;
}

void hs_records__end(uint32_t index, const struct hs_sampler_thread *thread, uint32_t stack)
{
    struct hs_sampled_block *record = hs_records__at(index);
    record->live = false;
    fill_side(&record->released, thread, stack);
}

void hs_records__let_go(uint32_t index)
{
    struct hs_sampled_block *record = hs_records__at(index);
    if (!record->used || record->live || record->recent || record->logged)
        return;
    record->used = false;
    hs_pool__release(HS_FAR_AT(pool), sizeof(struct hs_sampled_block), index);
}

void hs_records__forget(void)
{
    for (uint32_t i = 1; i <= HS_FAR_AT(pool)->count; i++) {
        struct hs_sampled_block *record = hs_records__at(i);
        if (!record->used || !record->live)
            continue;
        record->live = false;
        hs_records__let_go(i);
    }
}
