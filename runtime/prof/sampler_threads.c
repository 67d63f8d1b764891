// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The records of threads. A thread that has ended is noticed by its tid; its record is used again when nothing that is
// shown refers to it.
#include "runtime/prof/sampler_threads.h"

#include "arch/likely.h"
#include "arch/system.h"
#include "runtime/clock.h"
#include "runtime/config.h"
#include "runtime/memory.h"
#include "runtime/prof/pool.h"
#include "runtime/prof/table_lock.h"
#include "runtime/prof/weight.h"
#include "runtime/stacks.h"
#include "unwind/stack_memory.h"

#include <errno.h>
#include <fcntl.h>

enum { FIRST_SCAN = 64, FIRST_TIDS = 1024, STACKS_KEPT = 256, MEMO_FRAMES = HS_BACKTRACE_MEMO };

#define NOT_A_THREAD 0x80000000u

struct hs_sampler hs_sampler = {.sample_bytes = 1};

// Threads that have no record share this one: its `next` of 0 leads them to the slow path, where they get one, and its
// filter stops every free. Its `allocated` is what would have been sampled, at most one distance of samples for a
// block.
struct hs_sampler_thread hs_sampler_nobody = {.filter = &hs_filter_of_all, .active = true};

__thread struct hs_sampler_thread *hs_sampler_self = &hs_sampler_nobody;
intptr_t hs_sampler_self_will_be_at;

void hs_sampler__be(struct hs_sampler_thread *record)
{
    hs_sampler_self = record;
    if (hs_sampler_self_will_be_at)
        *(struct hs_sampler_thread **)(hs_arch_thread_pointer() + (uintptr_t)hs_sampler_self_will_be_at) = record;
}

static struct {
    uint32_t *tids; // by index - 1, of records in use by a running thread; else 0
    uint32_t tids_room;
    uint32_t free; // a record that means nothing any more, linked by next_free
    uint32_t next_uid;
    uint32_t running;   // records in use
    uint32_t next_scan; // number of them at which those that have ended are looked for
    uint64_t gone_allocated, gone_deallocated;
    bool is_over; // no thread gets a record
    uint32_t stacks_kept;
    void *stacks[STACKS_KEPT]; // what threads that have ended remembered of their stacks, for others
    struct hs_pool pool;
} threads;

struct hs_sampler_thread *hs_sampler__thread_at(uint32_t index)
{
    return hs_pool__at(&threads.pool, sizeof(struct hs_sampler_thread), index);
}

uint32_t hs_sampler__thread_count(void)
{
    return threads.pool.count;
}

// ---- what a thread remembers of its stacks --------------------------------------------------------------------------

static size_t rounded(size_t size)
{
    return (size + 63) & ~(size_t)63;
}

static size_t stacks_size(void)
{
    return rounded(sizeof(struct hs_sites)) + hs_memo_size(MEMO_FRAMES);
}

static void lay_out(struct hs_sampler_thread *thread, char *memory)
{
    thread->sites = (struct hs_sites *)(void *)memory;
    memory += rounded(sizeof *thread->sites);
    thread->memo = hs_memo_create(memory, MEMO_FRAMES);
}

bool hs_sampler__remember_stacks(struct hs_sampler_thread *thread)
{
    char *memory = NULL;
    if (hs_table__lock()) {
        if (threads.stacks_kept)
            memory = threads.stacks[--threads.stacks_kept];
        hs_table__unlock();
    }
    if (!memory)
        memory = hs_memory__map(stacks_size());
    if (!memory)
        return false;
    lay_out(thread, memory);
    thread->memo->depth = 0;
    hs_sites_forget(thread->sites);
    return true;
}

static void forget_stacks(struct hs_sampler_thread *thread)
{
    if (!thread->memo)
        return;
    if (threads.stacks_kept < STACKS_KEPT)
        threads.stacks[threads.stacks_kept++] = thread->sites;
    else
        hs_memory__unmap(thread->sites, stacks_size());
    thread->memo = NULL;
    thread->sites = NULL;
}

// ---- threads that have ended ----------------------------------------------------------------------------------------

static void bury(struct hs_sampler_thread *thread)
{
    thread->gone = true;
    threads.tids[thread->index - 1] = 0;
    threads.running--;
    threads.gone_allocated += thread->allocated;
    threads.gone_deallocated += thread->deallocated;
    thread->allocated = thread->deallocated = 0;
    forget_stacks(thread);
}

static bool means_nothing(const struct hs_sampler_thread *thread)
{
    return thread->gone && !thread->live_objects && !(hs_prof_options.accum && thread->total_objects);
}

void hs_sampler__collect_gone(void)
{
    threads.free = 0;
    for (uint32_t i = 1; i <= threads.pool.count; i++) {
        struct hs_sampler_thread *thread = hs_sampler__thread_at(i);
        if (threads.tids[i - 1] && hs_thread_is_gone(thread->tid))
            bury(thread);
        if (means_nothing(thread)) {
            thread->next_free = threads.free;
            threads.free = i;
        }
    }
}

// A running record with this tid belongs to an ended thread whose number was reused.
static void bury_namesake(uint32_t tid)
{
    for (uint32_t i = 0; i < threads.pool.count; i++)
        if (threads.tids[i] == tid)
            bury(hs_sampler__thread_at(i + 1));
}

// ---- a thread begins ------------------------------------------------------------------------------------------------

static uint64_t seed_of(uint32_t uid)
{
    uint64_t seed = hs_prof_options.seed;
    if (seed)
        return seed + uid;
    if (HS_SYSTEM3(SYS_getrandom, &seed, sizeof seed, 1) == sizeof seed) // GRND_NONBLOCK
        return seed;
    struct hs_time now = {0, 0};
    hs_system_clock(1, &now);
    return (uint64_t)now.nanoseconds << 32 ^ (uint64_t)now.seconds ^ (uintptr_t)&now ^ uid;
}

static bool make_room_for_tids(void)
{
    if (threads.pool.count < threads.tids_room)
        return true;
    uint32_t room = threads.tids_room ? 2 * threads.tids_room : FIRST_TIDS;
    uint32_t *tids = hs_memory__map(room * sizeof *tids);
    if (!tids)
        return false;
    if (threads.tids) {
        __builtin_memcpy(tids, threads.tids, threads.tids_room * sizeof *tids);
        hs_memory__unmap(threads.tids, threads.tids_room * sizeof *tids);
    }
    threads.tids = tids;
    threads.tids_room = room;
    return true;
}

static uint32_t take_record(void)
{
    uint32_t index = threads.free;
    if (!index)
        return make_room_for_tids() ? hs_pool__allocate(&threads.pool, sizeof(struct hs_sampler_thread)) : 0;
    threads.free = hs_sampler__thread_at(index)->next_free;
    return index;
}

// The filter for frees in new threads.
static struct hs_filter *fast_filter(void)
{
    return hs_sampler.quick ? atomic_load_explicit(&hs_filter, memory_order_relaxed) : &hs_filter_of_all;
}

static struct hs_sampler_thread *make_record(uint32_t tid)
{
    bury_namesake(tid);
    if (threads.running >= FIRST_SCAN && threads.running >= threads.next_scan) {
        hs_sampler__collect_gone();
        threads.next_scan = threads.running * 2;
    }
    uint32_t index = take_record();
    if (!index)
        return NULL;
    struct hs_sampler_thread *thread = hs_sampler__thread_at(index);
    *thread = (struct hs_sampler_thread){
        .tid = tid, .index = index, .uid = threads.next_uid++, .ready = true, .quick = hs_sampler.quick};
    atomic_store_explicit(&thread->filter, fast_filter(), memory_order_release);
    threads.tids[index - 1] = tid;
    threads.running++;
    return thread;
}

HS_COLD void hs_sampler__start(void)
{
    static _Atomic uint32_t begun;
    if (atomic_exchange_explicit(&begun, 1, memory_order_acq_rel))
        return;
    hs_sampler.pid = (uint32_t)hs_system_getpid();
    hs_clock__start();
    hs_prof_options__begin();
    threads.pool.unbounded = true; // a thread without a record is not sampled
    if (hs_config.memory && hs_config.memory < HS_MEMORY_LEAST)
        hs_config.memory = HS_MEMORY_LEAST;
    // Nodes are kept, and counts by number: a stack should have only one.
    hs_stacks__set_window(hs_config.memory ? (size_t)(hs_config.memory / 4) : SIZE_MAX);
    hs_sampler.sample_bytes = hs_prof_options.sample_bytes;
    hs_sampler.reset_at_ns = hs_sampler.active_since_ns = hs_clock__realtime_ns();
    atomic_store(&hs_sampler.active, hs_prof_options.active);
    atomic_store(&hs_sampler.thread_active_init, hs_prof_options.thread_active_init);
    atomic_store(&hs_sampler.gdump, hs_prof_options.gdump);
    atomic_store(&hs_sampler.on, hs_prof_options.prof);
}

struct hs_sampler_thread *hs_sampler__self(void)
{
    struct hs_sampler_thread *thread = hs_sampler_self;
    if (thread->ready)
        return thread;
    if (!hs_stack_has_room())
        return NULL;
    hs_sampler__start();
    if (hs_sampler__is_vforked() || hs_table__is_ours() || !hs_table__lock())
        return NULL;
    thread = threads.is_over ? NULL : make_record((uint32_t)hs_system_gettid());
    if (thread) {
        thread->active = atomic_load_explicit(&hs_sampler.thread_active_init, memory_order_relaxed);
        thread->random = seed_of(thread->uid);
        thread->epoch = atomic_load_explicit(&hs_sampler.rate_epoch, memory_order_relaxed) - 1; // draw at once
        hs_sampler_self = thread;
    }
    hs_table__unlock();
    return thread;
}

bool hs_sampler__sizes_are_in_headers(void)
{
    if (!hs_table__lock())
        return false;
    hs_filter__start();
    hs_sampler.quick = true;
    for (uint32_t i = 1; i <= threads.pool.count; i++)
        hs_sampler__thread_at(i)->quick = 1;
    hs_sampler__spread_filter();
    hs_table__unlock();
    return true;
}

void hs_sampler__spread_filter(void)
{
    static struct hs_filter *spread;
    struct hs_filter *filter = fast_filter();
    if (HS_LIKELY(filter == spread))
        return;
    spread = filter;
    for (uint32_t i = 1; i <= threads.pool.count; i++)
        atomic_store_explicit(&hs_sampler__thread_at(i)->filter, filter, memory_order_release);
}

void hs_sampler__count_gone(uint64_t bytes)
{
    threads.gone_allocated += bytes;
}

// ---- all threads ----------------------------------------------------------------------------------------------------

// Adds the counter at `offset` of every record.
static uint64_t total_from(uint64_t sum, size_t offset)
{
    for (uint32_t i = 1; i <= threads.pool.count; i++)
        sum += *(const uint64_t *)((const char *)hs_sampler__thread_at(i) + offset);
    return sum;
}

uint64_t hs_sampler__total_allocated(void)
{
    return total_from(threads.gone_allocated, offsetof(struct hs_sampler_thread, allocated));
}

uint64_t hs_sampler__total_deallocated(void)
{
    return total_from(threads.gone_deallocated, offsetof(struct hs_sampler_thread, deallocated));
}

// A thread that is still in the library may use its record to the end.
HS_COLD void hs_sampler__end(void)
{
    atomic_store(&hs_sampler.on, false);
    if (!hs_table__lock())
        return;
    threads.is_over = true;
    for (uint32_t i = 1; i <= threads.pool.count; i++)
        hs_sampler__thread_at(i)->tid |= NOT_A_THREAD;
    hs_table__unlock();
}

void hs_sampler__keep_only_self(void)
{
    struct hs_sampler_thread *self = hs_sampler_self;
    for (uint32_t i = 1; i <= threads.pool.count; i++) {
        struct hs_sampler_thread *thread = hs_sampler__thread_at(i);
        if (thread->tid && !thread->gone && thread != self)
            bury(thread);
    }
    if (self->ready)
        threads.tids[self->index - 1] = self->tid = (uint32_t)hs_system_gettid();
}

bool hs_sampler__is_vforked(void)
{
    return hs_sampler.pid != (uint32_t)hs_system_getpid();
}

bool hs_sampler__is_on(void)
{
    return atomic_load_explicit(&hs_sampler.on, memory_order_relaxed);
}
