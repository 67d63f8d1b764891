// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/prof/sampler.h"

#include "arch/likely.h"
#include "arch/system.h"
#include "runtime/clock.h"
#include "runtime/config.h"
#include "runtime/prof/contexts.h"
#include "runtime/prof/dump.h"
#include "runtime/prof/events.h"
#include "runtime/prof/room.h"
#include "runtime/prof/samples.h"
#include "runtime/prof/size_classes.h"
#include "runtime/prof/streaming.h"
#include "runtime/prof/weight.h"
#include "runtime/stacks.h"
#include "unwind/stack_memory.h"

enum { RATES_LIMIT = 4096, LEFT_LIMIT = 16, ABANDONED_AFTER = 10000 };
#define WATCH_BYTES (16u << 10) // a thread looks after the triggers of dumps at least this often

// Under the table's lock.
static struct {
    uint64_t rates[RATES_LIMIT]; // mean bytes between samples, each value once
    uint32_t rate_count;
    uint32_t life;                             // counts hs_sampler__reset()
    uint64_t seen_allocated, seen_deallocated; // sums that threads have reported
} state;

// Released blocks that the next owner of the table's lock takes out: of threads that did not get the lock, and of
// signal handlers that interrupted its owner. A block is left before its real free. Whoever gets the address after that
// takes the lock before it adds a sample, and so sees what was left.
static _Atomic uintptr_t left[LEFT_LIMIT]; // 0: unused

// ---- what is left
// -------------------------------------------------------------------------------------------------------

static HS_COLD void settle(uint32_t index, const struct hs_sampler_thread *thread, uint32_t stack);

static HS_COLD void leave(uintptr_t block)
{
    uintptr_t unused = 1;
    for (unsigned i = 0; i < LEFT_LIMIT && unused; i++) {
        unused = 0;
        atomic_compare_exchange_strong_explicit(&left[i], &unused, block, memory_order_relaxed, memory_order_relaxed);
    }
    atomic_store_explicit(&hs_table_left, 1, memory_order_release);
}

// Under the lock.
static HS_COLD void settle_what_is_left(void)
{
    atomic_exchange_explicit(&hs_table_left, 0, memory_order_acquire);
    for (unsigned i = 0; i < LEFT_LIMIT; i++) {
        uintptr_t block = atomic_exchange_explicit(&left[i], 0, memory_order_relaxed);
        uint32_t index = block ? hs_samples__take(block) : 0;
        if (index)
            settle(index, hs_sampler_self, 0);
    }
}

void (*const hs_table_settle)(void) = settle_what_is_left;

// ---- counting -------------------------------------------------------------------------------------------------------

static uint32_t index_of_rate(uint64_t bytes)
{
    for (uint32_t i = state.rate_count; i-- > 0;)
        if (state.rates[i] == bytes)
            return i;
    if (state.rate_count == RATES_LIMIT)
        return RATES_LIMIT - 1;
    state.rates[state.rate_count] = bytes;
    return state.rate_count++;
}

static uint64_t shown_size(const struct hs_sample *sample)
{
    if (HS_LIKELY(hs_prof_options.size_model == HS_SIZE_USABLE))
        return sample->usable;
    if (hs_prof_options.size_model == HS_SIZE_REQUEST)
        return sample->requested;
    return hs_size_class(sample->requested);
}

// The weight of a sample. It is the same when the sample is added and when it is removed.
static struct hs_counts counts_of(const struct hs_sample *sample)
{
    uint64_t bytes = shown_size(sample);
    uint64_t blocks = hs_weight__blocks_q16(sample->usable, state.rates[sample->weight]);
    return (struct hs_counts){1, bytes, blocks, hs_weight__multiply(blocks, bytes, 16)};
}

static void subtract(struct hs_counts *from, const struct hs_counts *counts)
{
    from->objects -= counts->objects;
    from->bytes -= counts->bytes;
    from->estimated_objects_q16 -= counts->estimated_objects_q16;
    from->estimated_bytes -= counts->estimated_bytes;
}

// Gives up a sample that was taken out of the table. Under the lock.
static void settle(uint32_t index, const struct hs_sampler_thread *thread, uint32_t stack)
{
    const struct hs_sample *sample = hs_samples__at(index);
    struct hs_pair *pair = hs_pairs__at(sample->pair);
    struct hs_counts counts = counts_of(sample);
    if (HS_UNLIKELY(atomic_load_explicit(&hs_events_wanted, memory_order_relaxed)))
        hs_events__released(sample, thread, stack);
    subtract(&pair->live, &counts);
    hs_sampler__thread_at(pair->record)->live_objects--;
    hs_samples__free(index);
}

// ---- samples --------------------------------------------------------------------------------------------------------

static uint32_t stack_of(struct hs_sampler_thread *thread, const struct hs_registers *caller)
{
    if (HS_UNLIKELY(!thread->memo) && !hs_sampler__remember_stacks(thread))
        return 0;
    uint32_t stack;
    if (HS_UNLIKELY(hs_hooks.backtrace != NULL) && (stack = hs_events__stack_by_hook(thread)) != 0)
        return stack;
    stack = hs_sites_recall(thread->sites, caller);
    if (stack || HS_UNLIKELY(!hs_stack_has_page()))
        return stack;
    struct hs_memo *memo = thread->memo;
    uint32_t kept = hs_memo_walk(memo, caller);
    if (kept == memo->depth && kept && memo->end != HS_END_TOO_DEEP) {
        stack = memo->ids[kept - 1];
    } else {
        stack = hs_stacks__identify(memo, kept, thread->tid);
    }
    if (HS_UNLIKELY(memo->depth > hs_prof_options.max_frames) && stack)
        stack = hs_events__innermost(thread, hs_prof_options.max_frames);
    if (stack)
        hs_sites_learn(thread->sites, memo, caller, stack);
    return stack;
}

// Under the lock. False: it could not be kept.
static bool enter(struct hs_sampler_thread *thread, struct hs_sample *sample, uint32_t stack)
{
    uint32_t stale = 0;
    sample->pair = hs_pairs__find(stack, thread->uid, thread->index);
    sample->weight = index_of_rate(hs_sampler.sample_bytes);
    uint32_t index = sample->pair ? hs_samples__insert(sample, &stale) : 0;
    if (stale)
        settle(stale, thread, 0);
    if (!index)
        return false;
    hs_sampler__spread_filter();
    struct hs_pair *pair = hs_pairs__at(sample->pair);
    struct hs_counts counts = counts_of(sample);
    hs_counts__add(&pair->live, &counts);
    hs_counts__add(&pair->total, &counts);
    thread->live_objects++;
    thread->total_objects++;
    if (HS_UNLIKELY(atomic_load_explicit(&hs_events_wanted, memory_order_relaxed)))
        hs_events__allocated(hs_samples__at(index), thread, stack);
    return true;
}

static HS_COLD bool enter_and_count(struct hs_sampler_thread *thread, struct hs_sample *sample, uint32_t stack)
{
    if (!hs_table__lock())
        return false;
    bool entered = enter(thread, sample, stack);
    hs_sampler.shortened += entered;
    hs_table__unlock();
    return entered;
}

// Without room for the whole stack. Returns the stack that stands for it; 0: there is no room for that, either.
static HS_COLD uint32_t enter_shortened(struct hs_sampler_thread *thread, struct hs_sample *sample,
                                        const struct hs_registers *caller)
{
    static const uint8_t frames_kept[] = {0, 4, 1};
    uint32_t stack = 0;
    for (unsigned step = 1; step <= 2 && !stack && thread->memo; step++) {
        thread->shortening = step;
        hs_memo_walk(thread->memo, caller);
        uint32_t depth = thread->memo->depth;
        if (depth)
            stack = hs_events__innermost(thread, depth < frames_kept[step] ? depth : frames_kept[step]);
        thread->memo->depth = 0; // its nodes have no numbers
        if (stack && !enter_and_count(thread, sample, stack))
            stack = 0;
    }
    thread->shortening = 0;
    return stack;
}

// The sample did not find room as it is.
static HS_COLD uint32_t enter_fallback(struct hs_sampler_thread *thread, struct hs_sample *sample,
                                       const struct hs_registers *caller)
{
    uint32_t stack = sample->pair || !hs_stack_has_page() ? 0 : enter_shortened(thread, sample, caller);
    if (!stack)
        atomic_fetch_add_explicit(&hs_sampler.dropped, 1, memory_order_relaxed);
    return stack;
}

static void record(struct hs_sampler_thread *thread, const struct hs_registers *caller, void *block, size_t requested,
                   size_t usable)
{
    struct hs_sample sample = {.block = (uintptr_t)block, .usable = usable, .requested = requested};
    uint32_t stack = stack_of(thread, caller);
    if (HS_UNLIKELY(hs_prof_options.sys_thread_name) && !hs_system_forbids(HS_FORBIDDEN_NAMES))
        HS_SYSTEM2(SYS_prctl, 16, thread->name); // PR_GET_NAME: 16 bytes with the NUL
    bool entered = false;
    if (HS_LIKELY(hs_table__lock())) {
        entered = stack && enter(thread, &sample, stack);
        hs_table__unlock();
    } else {
        sample.pair = UINT32_MAX; // a shorter stack would not help
    }
    if (HS_UNLIKELY(!entered))
        entered = (stack = enter_fallback(thread, &sample, caller)) != 0;
    if (HS_UNLIKELY(hs_hooks.sample != NULL) && entered)
        hs_events__emit_sample(block, requested, usable, stack);
}

// ---- the slow path of an allocation ---------------------------------------------------------------------------------

static __attribute__((noinline)) bool is_active(const struct hs_sampler_thread *thread)
{
    return atomic_load_explicit(&hs_sampler.on, memory_order_relaxed) &&
           atomic_load_explicit(&hs_sampler.active, memory_order_relaxed) && thread->active;
}

static void draw(struct hs_sampler_thread *thread, uint64_t from)
{
    thread->sample_at = from + hs_weight__wait(&thread->random, hs_sampler.sample_bytes);
}

static bool is_watched(void)
{
    return hs_dump__watches() || hs_prof_options.stats_interval >= 0 ||
           atomic_load_explicit(&hs_sampler.peaks, memory_order_relaxed);
}

// thread.peak, as exact as visits are frequent.
static HS_COLD void note_peak(struct hs_sampler_thread *thread)
{
    int64_t now = (int64_t)(thread->allocated - thread->deallocated - thread->peak_base);
    if (now > (int64_t)thread->peak_highest)
        thread->peak_highest = (uint64_t)now;
}

// The next slow path: at the next sample, or earlier if thresholds are watched.
static void plan(struct hs_sampler_thread *thread)
{
    uint64_t next = thread->sample_at;
    if (is_watched() && next > thread->allocated + WATCH_BYTES)
        next = thread->allocated + WATCH_BYTES;
    thread->next = next;
    // Another thread that changes the rate stores 0 into `next`, possibly just before the line above.
    atomic_thread_fence(memory_order_seq_cst);
    if (HS_UNLIKELY(atomic_load_explicit(&hs_sampler.rate_epoch, memory_order_acquire) != thread->epoch))
        thread->next = 0;
}

// The live bytes of the process, without changes since each thread's last report; exact if they seem to be a new peak.
static HS_COLD void emit_triggers(struct hs_sampler_thread *thread)
{
    uint64_t allocated = thread->allocated - thread->seen_allocated;
    uint64_t deallocated = thread->deallocated - thread->seen_deallocated;
    if (!hs_table__lock())
        return;
    thread->seen_allocated = thread->allocated;
    thread->seen_deallocated = thread->deallocated;
    state.seen_allocated += allocated;
    state.seen_deallocated += deallocated;
    uint64_t live = state.seen_allocated > state.seen_deallocated ? state.seen_allocated - state.seen_deallocated : 0;
    uint64_t total = state.seen_allocated;
    hs_table__unlock();
    hs_dump__consider(is_active(thread) ? allocated : 0, live);
    if (HS_UNLIKELY(hs_prof_options.stats_interval >= 0))
        hs_events__consider_statistics(total - allocated, total);
}

// A handler that interrupted the profiler, or what it calls, allocates a few blocks; a thread that does so for ever
// left the profiler by longjmp, and what it remembers of its stack may be half written.
static HS_COLD bool was_abandoned(struct hs_sampler_thread *thread)
{
    if (++thread->nested < ABANDONED_AFTER)
        return false;
    if (thread->memo) {
        thread->memo->depth = 0;
        hs_sites_forget(thread->sites);
    }
    return true;
}

// A thread gets no record, above all because its stack is small. What would have been sampled counts as dropped; not
// exactly, if several such threads allocate at once.
static HS_COLD void pass_over(size_t usable)
{
    uint64_t distance = hs_sampler.sample_bytes;
    if (is_active(&hs_sampler_nobody))
        hs_sampler_nobody.allocated += usable < distance ? usable : distance;
}

void hs_sampler__allocated_slowly(struct hs_sampler_thread *thread, const struct hs_registers *caller, void *block,
                                  size_t requested, size_t usable)
{
    if (HS_UNLIKELY(!thread->ready) && !(thread = hs_sampler__self())) {
        pass_over(usable);
        return;
    }
    uint64_t before = thread->allocated;
    thread->allocated = before + usable;
    if (thread->inside && !was_abandoned(thread))
        return;
    thread->inside = 1;
    thread->nested = 0;
    thread->next = 0;
    uint32_t epoch = atomic_load_explicit(&hs_sampler.rate_epoch, memory_order_acquire);
    if (HS_UNLIKELY(thread->epoch != epoch)) {
        thread->epoch = epoch;
        draw(thread, before);
    }
    if (before + usable >= thread->sample_at) {
        draw(thread, before + usable);
        if (is_active(thread))
            record(thread, caller, block, requested, usable);
        if (HS_UNLIKELY(atomic_load_explicit(&hs_streaming_is_due, memory_order_relaxed)))
            hs_streaming__begin_if_due();
    }
    if (HS_UNLIKELY(atomic_load_explicit(&hs_sampler.peaks, memory_order_relaxed)))
        note_peak(thread);
    if (is_watched())
        emit_triggers(thread);
    thread->inside = 0;
    plan(thread);
}

// ---- frees ----------------------------------------------------------------------------------------------------------

static HS_COLD __attribute__((noinline)) bool lock_or_leave(uintptr_t block)
{
    if (!hs_table__is_ours() && hs_table__lock())
        return true;
    leave(block);
    return false;
}

static uint32_t stack_of_free(struct hs_sampler_thread *thread, const struct hs_registers *caller)
{
    if (HS_LIKELY(!hs_records__are_wanted()) || !caller || !thread->ready || thread->inside || hs_table__is_ours())
        return 0;
    thread->inside = 1;
    uint32_t stack = stack_of(thread, caller);
    thread->inside = 0;
    return stack;
}

// The program's hook may allocate and free: that is not sampled.
static void emit_free(struct hs_sampler_thread *thread, uintptr_t block, size_t usable)
{
    if (!thread->ready || thread->inside)
        return;
    thread->inside = 1;
    hs_events__emit_free((const void *)block, usable);
    thread->inside = 0;
}

void hs_sampler__released_slowly(struct hs_sampler_thread *thread, const struct hs_registers *caller, uintptr_t block)
{
    // The log names the thread, which may have allocated nothing so far.
    if (HS_UNLIKELY(!thread->ready) && caller && hs_sampler__self())
        thread = hs_sampler_self;
    uint32_t stack = stack_of_free(thread, caller);
    if (!lock_or_leave(block))
        return;
    uint32_t index = hs_samples__take(block);
    uint64_t usable = index ? hs_samples__at(index)->usable : 0;
    if (index)
        settle(index, thread, stack);
    hs_table__unlock();
    if (HS_UNLIKELY(hs_hooks.sample_free != NULL) && index)
        emit_free(thread, block, (size_t)usable);
}

struct hs_taken_sample hs_sampler__take(struct hs_sampler_thread *thread, uintptr_t block)
{
    (void)thread;
    struct hs_taken_sample taken = {0, 0};
    if (!lock_or_leave(block))
        return taken;
    taken.index = hs_samples__take(block);
    taken.life = state.life;
    hs_table__unlock();
    return taken;
}

void hs_sampler__give_back(struct hs_sampler_thread *thread, struct hs_taken_sample taken)
{
    (void)thread;
    if (!taken.index || !hs_table__lock())
        return;
    if (taken.life == state.life)
        hs_samples__put_back(taken.index);
    hs_table__unlock();
}

HS_COLD void hs_sampler__drop(struct hs_sampler_thread *thread, struct hs_taken_sample taken)
{
    if (!taken.index || !hs_table__lock())
        return;
    bool known = taken.life == state.life;
    uintptr_t block = known ? hs_samples__at(taken.index)->block : 0;
    uint64_t usable = known ? hs_samples__at(taken.index)->usable : 0;
    if (known)
        settle(taken.index, thread, 0);
    hs_table__unlock();
    if (HS_UNLIKELY(hs_hooks.sample_free != NULL) && known)
        emit_free(thread, block, (size_t)usable);
}

HS_COLD bool hs_sampler__add_older(uint64_t bytes)
{
    if (!hs_table__lock())
        return false;
    hs_sampler__count_gone(bytes);
    state.seen_allocated += bytes;
    hs_table__unlock();
    return true;
}

// ---- control --------------------------------------------------------------------------------------------------------

// Makes every thread come by at its next allocation. Under the lock.
static HS_COLD void call_all_threads(void)
{
    atomic_fetch_add_explicit(&hs_sampler.rate_epoch, 1, memory_order_acq_rel);
    for (uint32_t i = 1; i <= hs_sampler__thread_count(); i++)
        hs_sampler__thread_at(i)->next = 0;
}

HS_COLD void hs_sampler__switch_on(void)
{
    if (!atomic_exchange(&hs_sampler.on, true) && hs_table__lock()) {
        atomic_store(&hs_sampler.active, false);
        hs_sampler.reset_at_ns = hs_clock__realtime_ns();
        hs_table__unlock();
    }
}

HS_COLD bool hs_sampler__set_active(bool active)
{
    bool before = atomic_exchange(&hs_sampler.active, active);
    if (before != active)
        hs_sampler.active_since_ns = hs_clock__realtime_ns();
    return before;
}

HS_COLD void hs_sampler__set_rate(uint64_t bytes)
{
    if (!hs_table__lock())
        return;
    hs_sampler.sample_bytes = bytes ? bytes : 1;
    call_all_threads();
    hs_table__unlock();
}

HS_COLD void hs_sampler__reset(void)
{
    if (!hs_table__lock())
        return;
    hs_events__forget();
    hs_samples__forget();
    hs_pairs__forget();
    state.life++;
    state.rate_count = 0;
    for (uint32_t i = 1; i <= hs_sampler__thread_count(); i++)
        hs_sampler__thread_at(i)->live_objects = hs_sampler__thread_at(i)->total_objects = 0;
    hs_sampler.shortened = hs_sampler_nobody.allocated = 0;
    atomic_store_explicit(&hs_sampler.dropped, 0, memory_order_relaxed);
    hs_sampler.reset_at_ns = hs_clock__realtime_ns();
    call_all_threads();
    hs_table__unlock();
}

// ---- fork -----------------------------------------------------------------------------------------------------------

enum { TABLE_TAKEN = 1, STACKS_TAKEN = 2, TAKEN_BITS = 2 };

// Not taken are locks that a signal handler's fork interrupted, and those for which it had to wait for too long.
HS_COLD uint64_t hs_sampler__before_fork(void)
{
    hs_sampler__self();
    uint64_t ticket = hs_dump__before_fork();
    uint32_t taken = hs_table__lock() ? TABLE_TAKEN : 0;
    if (hs_stacks__before_fork(hs_sampler__own_tid()))
        taken |= STACKS_TAKEN;
    return ticket << TAKEN_BITS | taken;
}

HS_COLD void hs_sampler__after_fork(bool in_child, uint64_t locks)
{
    if (in_child) {
        hs_sampler.pid = (uint32_t)hs_system_getpid();
        hs_table_lock.word = hs_sampler_self->ready ? hs_sampler_self->tid : 1;
        hs_sampler__keep_only_self();
    }
    hs_stacks__after_fork(in_child, locks & STACKS_TAKEN);
    if (in_child)
        hs_lock__release(&hs_table_lock);
    else if (locks & TABLE_TAKEN)
        hs_table__unlock();
    hs_dump__after_fork(in_child, (uint32_t)(locks >> TAKEN_BITS));
}
