// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/record.h"

#include "arch/likely.h"
#include "runtime/clock.h"
#include "runtime/config.h"
#include "runtime/mode.h"
#include "runtime/modules.h"
#include "runtime/output.h"
#include "runtime/perf/witness.h"
#include "runtime/python.h"
#include "runtime/shared_word.h"
#include "runtime/stacks.h"
#include "unwind/stack_memory.h"

enum { SHORT_SIZE_BITS = 32, OLD_ADDRESS_BITS = 48 };

#define ADDRESS_MASK ((1ull << HS_RECORD_ADDRESS_BITS) - 1)
#define ALIGNED_MASK ((1ull << HS_ARCH_ADDRESS_SHIFT) - 1)

static void count(uint64_t *word)
{
    hs_shared_word__add(word, 1);
}

// ---- stacks --------------------------------------------------------------------------------------------------------

static uint32_t walk(struct hs_thread *thread, const struct hs_registers *caller)
{
    uint32_t stack;
    struct hs_memo *memo = thread->memo;
    if (HS_UNLIKELY(!hs_stack_has_page())) {
        count(&hs_output__live()->dropped[HS_DROP_NO_ROOM]);
        return 0;
    }
    uint32_t kept = hs_memo_walk(memo, caller);
    if (HS_UNLIKELY(memo->end != HS_END_ROOT))
        count(&hs_output__live()->truncated[memo->end]);
    if (HS_UNLIKELY(memo->guessed))
        count(&hs_output__live()->guessed);
    if (HS_LIKELY(kept == memo->depth && kept && memo->end != HS_END_TOO_DEEP)) {
        stack = memo->ids[kept - 1];
    } else {
        stack = hs_stacks__identify(memo, kept, hs_thread__tid(thread));
    }
    if (HS_LIKELY(stack))
        hs_sites_learn(thread->sites, memo, caller, stack);
    else
        count(&hs_output__live()->dropped[HS_DROP_STACK_TABLE]);
#if HS_PERF_HAS_WITNESSES
    if (HS_UNLIKELY(hs_config.kernel_stacks))
        hs_witness__call(stack, caller);
#endif
    return stack;
}

static HS_COLD uint32_t stack_by_options(struct hs_thread *thread, const struct hs_registers *caller)
{
    uint32_t stack = 0;
    if (hs_config.memo)
        stack = hs_sites_recall(thread->sites, caller);
    else
        thread->memo->depth = 0;
    if (!stack)
        stack = walk(thread, caller);
    if (!hs_config.python || !stack)
        return stack;
    struct hs_python_caller python = {caller, thread->memo, hs_thread__tid(thread)};
    return hs_python__stack(&thread->python, &python, stack);
}

static uint32_t stack_of(struct hs_thread *thread, const struct hs_registers *caller)
{
    if (HS_UNLIKELY(!hs_config.as_walked))
        return stack_by_options(thread, caller);
    uint32_t stack = hs_sites_recall(thread->sites, caller);
    return stack ? stack : walk(thread, caller);
}

// ---- writing into the slot -----------------------------------------------------------------------------------------

static uint64_t first_word(uint32_t kind, uint64_t middle, uint64_t delta)
{
    return kind | middle << HS_RECORD_ADDRESS_POS | delta << HS_RECORD_DELTA_POS;
}

// The first word is written last: it makes the record visible to readers of the slot after a kill.
static void commit(uint64_t *record, uint64_t word)
{
    hs_shared_word__store(record, word);
}

// The search for their names may have been put off, and no new stack may come any more.
static HS_COLD void name_modules(uint32_t tid)
{
    if (!hs_stacks__try_lock(tid))
        return;
    hs_modules__catch_up();
    hs_stacks__unlock();
}

static bool make_room(struct hs_thread *thread, uint64_t now)
{
    name_modules(hs_thread__tid(thread));
    if (hs_thread__next_slot(thread, now))
        return true;
    bool stopped = hs_output__stopped();
    if (!hs_output__is_left())
        count(&hs_output__live()->dropped[stopped ? HS_DROP_STOPPED : HS_DROP_BUFFER]);
    if (stopped)
        hs_recording__give_up();
    return false;
}

// Room for a record and the time since the previous one; -1 when there is none.
static inline int64_t prepare(struct hs_thread *thread, uint64_t now)
{
    if (HS_UNLIKELY(thread->at >= __atomic_load_n(&thread->limit, __ATOMIC_RELAXED)) && !make_room(thread, now))
        return -1;
    uint64_t delta = now - thread->last_time;
    if (HS_LIKELY(delta < HS_RECORD_DELTA_LIMIT)) {
        thread->last_time = now;
        return (int64_t)delta;
    }
    if ((int64_t)delta < 0)
        return 0; // a counter that runs backwards between cores
    thread->last_time = now;
    commit(thread->at++, HS_RECORD_TIME | now << HS_RECORD_ADDRESS_POS);
    return 0;
}

static bool fits_short(uintptr_t address)
{
    uint64_t unit = address >> HS_ARCH_ADDRESS_SHIFT;
    return (address & ALIGNED_MASK) == 0 && unit <= ADDRESS_MASK;
}

static HS_COLD void put_wide(struct hs_thread *thread, uint32_t kind, const uint64_t *words, uint32_t length,
                             uint64_t now)
{
    int64_t delta = prepare(thread, now);
    if (delta < 0)
        return;
    uint64_t *at = thread->at;
    for (uint32_t i = 0; i < length; i++)
        at[1 + i] = words[i];
    commit(at, first_word(HS_RECORD_WIDE, kind | (uint64_t)length << 8, (uint64_t)delta));
    thread->at = at + 1 + length;
}

void hs_record__allocation(struct hs_thread *thread, const struct hs_registers *caller, uint32_t kind,
                           uintptr_t address, size_t size, size_t usable)
{
    thread->inside = HS_INSIDE_RECORDER;
    uint64_t stack = stack_of(thread, caller);
    uint64_t now = hs_clock__now();
    if (HS_UNLIKELY(!fits_short(address) || (uint64_t)size >> SHORT_SIZE_BITS)) {
        uint64_t words[] = {address, size, usable, stack | (uint64_t)kind << 32};
        put_wide(thread, HS_WIDE_ALLOC, words, 4, now);
        return;
    }
    int64_t delta = prepare(thread, now);
    if (HS_UNLIKELY(delta < 0))
        return;
    uint64_t *at = thread->at;
    bool modelled = usable == hs_usable_model(size, sizeof(void *));
    at[1] = size | stack << 32;
    at[2] = modelled ? 0 : usable;
    commit(at,
           first_word(modelled ? kind : kind | HS_RECORD_USABLE, address >> HS_ARCH_ADDRESS_SHIFT, (uint64_t)delta));
    thread->at = at + (modelled ? 2 : 3);
}

static inline void put_free(struct hs_thread *thread, uintptr_t address, uint64_t stack, uint64_t now)
{
    if (HS_UNLIKELY(!fits_short(address))) {
        uint64_t words[] = {address, stack};
        put_wide(thread, HS_WIDE_FREE, words, 2, now);
        return;
    }
    int64_t delta = prepare(thread, now);
    if (HS_UNLIKELY(delta < 0))
        return;
    uint64_t *at = thread->at;
    uint32_t kind = HS_RECORD_FREE;
    if (stack) {
        kind = HS_RECORD_FREE_STACK;
        at[1] = stack;
    }
    commit(at, first_word(kind, address >> HS_ARCH_ADDRESS_SHIFT, (uint64_t)delta));
    thread->at = at + (stack ? 2 : 1);
}

void hs_record__free(struct hs_thread *thread, const struct hs_registers *caller, uintptr_t address)
{
    thread->inside = HS_INSIDE_RECORDER;
    uint64_t stack = HS_UNLIKELY(hs_config.free_stacks) ? stack_of(thread, caller) : 0;
    put_free(thread, address, stack, hs_clock__now());
}

HS_COLD void hs_record__free_at(struct hs_thread *thread, const struct hs_registers *caller, uintptr_t address,
                                uint64_t when)
{
    thread->inside = HS_INSIDE_RECORDER;
    put_free(thread, address, hs_config.free_stacks ? stack_of(thread, caller) : 0, when);
}

void hs_record__reallocation(struct hs_thread *thread, const struct hs_registers *caller, uintptr_t old, uint64_t began,
                             uintptr_t address, size_t size, size_t usable)
{
    thread->inside = HS_INSIDE_RECORDER;
    uint64_t stack = stack_of(thread, caller);
    uint64_t now = hs_clock__now();
    uint64_t since = now > began ? now - began : 0;
    if (HS_UNLIKELY(!fits_short(address) || (uint64_t)size >> SHORT_SIZE_BITS || (uint64_t)old >> OLD_ADDRESS_BITS ||
                    since >= HS_RECORD_DELTA_LIMIT)) {
        uint64_t words[] = {address, size, usable, stack, old, since};
        put_wide(thread, HS_WIDE_REALLOC, words, 6, now);
        return;
    }
    int64_t delta = prepare(thread, now);
    if (HS_UNLIKELY(delta < 0))
        return;
    uint64_t *at = thread->at;
    bool modelled = usable == hs_usable_model(size, sizeof(void *));
    at[1] = size | stack << 32;
    at[2] = old | since << OLD_ADDRESS_BITS;
    at[3] = modelled ? 0 : usable;
    commit(at, first_word(modelled ? HS_RECORD_REALLOC : HS_RECORD_REALLOC_USABLE, address >> HS_ARCH_ADDRESS_SHIFT,
                          (uint64_t)delta));
    thread->at = at + (modelled ? 3 : 4);
}

HS_COLD void hs_record__wide(struct hs_thread *thread, const struct hs_registers *caller, uint32_t kind,
                             uint64_t *words, uint32_t length, uint32_t stack_word, uint32_t stack_shift)
{
    thread->inside = HS_INSIDE_RECORDER;
    if (stack_word != HS_RECORD_NO_STACK)
        words[stack_word] |= (uint64_t)stack_of(thread, caller) << stack_shift;
    put_wide(thread, kind, words, length, hs_clock__now());
}
