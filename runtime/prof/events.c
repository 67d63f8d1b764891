// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/prof/events.h"

#include "runtime/prof/contexts.h"
#include "runtime/prof/options.h"
#include "runtime/prof/size_classes.h"
#include "runtime/stacks.h"

enum { HOOK_FRAMES = 128 };

struct hs_hooks hs_hooks;
void (*hs_events_print_statistics)(void);

static struct hs_class_count live_counts[HS_CLASS_COUNT_LIMIT], total_counts[HS_CLASS_COUNT_LIMIT];

void hs_events__start(void)
{
    if (hs_prof_options.stats)
        atomic_store_explicit(&hs_events_wanted, HS_EVENTS_ENDS, memory_order_relaxed);
    if (hs_prof_options.recent_max)
        hs_recent__set_limit(hs_prof_options.recent_max);
    if (hs_prof_options.prof && hs_prof_options.log)
        hs_allocation_log__start(NULL);
}

void hs_events__end(void)
{
    if (hs_allocation_log__number())
        hs_allocation_log__stop();
}

// ---- counts by size class -------------------------------------------------------------------------------------------

static __attribute__((noinline)) void count(const struct hs_sample *sample, bool gone)
{
    uint32_t place = hs_size_class__index(sample->requested);
    if (place >= HS_CLASS_COUNT_LIMIT)
        return;
    struct hs_class_count *live = &live_counts[place], *total = &total_counts[place];
    if (gone) {
        live->requested -= sample->requested;
        live->blocks--;
        return;
    }
    live->requested += sample->requested;
    live->blocks++;
    total->requested += sample->requested;
    total->blocks++;
}

static struct hs_class_count copy(const struct hs_class_count *counts, uint32_t size_class)
{
    struct hs_class_count result = {0, 0};
    if (size_class < HS_CLASS_COUNT_LIMIT && hs_table__lock()) {
        result = counts[size_class];
        hs_table__unlock();
    }
    return result;
}

struct hs_class_count hs_class_counts__live(uint32_t size_class)
{
    return copy(live_counts, size_class);
}

struct hs_class_count hs_class_counts__total(uint32_t size_class)
{
    return copy(total_counts, size_class);
}

// ---- the sampler's calls --------------------------------------------------------------------------------------------

static uint32_t add_record(const struct hs_sample *sample, const struct hs_sampler_thread *thread, uint32_t stack)
{
    uint32_t index = hs_records__add(sample->requested, sample->usable, thread, stack);
    if (!index)
        return 0;
    hs_records__at(index)->log_number = hs_allocation_log__number();
    hs_recent__add(index);
    return index;
}

static void end_record(uint32_t index, const struct hs_sampler_thread *thread, uint32_t stack)
{
    hs_records__end(index, thread, stack);
    uint32_t log_number = hs_records__at(index)->log_number;
    if (log_number && log_number == hs_allocation_log__number())
        hs_allocation_log__add(index);
    hs_records__let_go(index);
}

void hs_events__allocated(struct hs_sample *sample, const struct hs_sampler_thread *thread, uint32_t stack)
{
    if (hs_prof_options.stats)
        count(sample, false);
    if (hs_records__are_wanted())
        sample->note = add_record(sample, thread, stack);
}

void hs_events__released(const struct hs_sample *sample, const struct hs_sampler_thread *thread, uint32_t stack)
{
    if (hs_prof_options.stats)
        count(sample, true);
    if (sample->note)
        end_record(sample->note, thread, stack);
}

void hs_events__forget(void)
{
    __builtin_memset(live_counts, 0, sizeof live_counts);
    hs_records__forget();
}

void hs_events__consider_statistics(uint64_t before, uint64_t now)
{
    uint64_t interval = hs_prof_options.stats_interval > 0 ? (uint64_t)hs_prof_options.stats_interval : 1;
    if (hs_events_print_statistics && now / interval != before / interval)
        hs_events_print_statistics();
}

// ---- hooks of the program -------------------------------------------------------------------------------------------

void hs_events__emit_sample(const void *block, size_t requested, size_t usable, uint32_t stack)
{
    void (*hook)(const void *, size_t, void **, unsigned, size_t) = hs_hooks.sample;
    if (!hook)
        return;
    uintptr_t frames[HOOK_FRAMES];
    bool cut;
    unsigned frame_count = hs_profile_snapshot__frames(stack, frames, HOOK_FRAMES, &cut);
    hook(block, requested, (void **)frames, frame_count, usable);
}

void hs_events__emit_free(const void *block, size_t usable)
{
    void (*hook)(const void *, size_t) = hs_hooks.sample_free;
    if (hook)
        hook(block, usable);
}

uint32_t hs_events__stack_by_hook(struct hs_sampler_thread *thread)
{
    void (*hook)(void **, unsigned *, unsigned) = hs_hooks.backtrace;
    void *frames[HOOK_FRAMES];
    uintptr_t pcs[HOOK_FRAMES];
    uint32_t ids[HOOK_FRAMES];
    unsigned frame_count = 0;
    if (hook)
        hook(frames, &frame_count, HOOK_FRAMES);
    if (frame_count == 0 || frame_count > HOOK_FRAMES)
        return 0;
    for (unsigned i = 0; i < frame_count; i++)
        pcs[frame_count - 1 - i] = (uintptr_t)frames[i];
    struct hs_memo memo = {.pcs = pcs, .ids = ids, .capacity = HOOK_FRAMES, .depth = frame_count};
    return hs_stacks__identify(&memo, 0, thread->tid);
}

uint32_t hs_events__innermost(struct hs_sampler_thread *thread, uint32_t frame_count)
{
    const struct hs_memo *whole = thread->memo;
    uint32_t ids[HS_BACKTRACE_MEMO];
    if (frame_count > HS_BACKTRACE_MEMO || frame_count > whole->depth)
        return 0;
    struct hs_memo memo = {.pcs = whole->pcs + (whole->depth - frame_count),
                           .ids = ids,
                           .capacity = frame_count,
                           .depth = frame_count,
                           .end = HS_END_TOO_DEEP};
    return hs_stacks__identify(&memo, 0, thread->tid);
}
