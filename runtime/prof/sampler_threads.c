// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The records of threads. A thread that has ended is noticed by its tid; its record is used again when nothing that is
// shown refers to it.
#include "arch/system.h"
#include "runtime/memory.h"
#include "runtime/prof/contexts.h"
#include "runtime/prof/pool.h"
#include "runtime/prof/sampler_internal.h"
#include "runtime/prof/weight.h"
#include "runtime/stacks.h"

#include <errno.h>
#include <fcntl.h>

enum { FIRST_SCAN = 64, STACKS_KEPT = 256, MEMO_FRAMES = HS_BACKTRACE_MEMO };

// Threads that have no record share this one: its `next` of 0 leads them to the slow path, where they get one.
static struct hs_sampler_thread nobody;

__thread struct hs_sampler_thread *hs_sampler_self = &nobody;

void hs_sampler__be_nobody(void)
{
    hs_sampler_self = &nobody;
}

static struct {
    struct hs_pool pool;
    uint32_t next_uid;
    uint32_t running;   // records in use
    uint32_t next_scan; // number of them at which those that have ended are looked for
    uint64_t gone_allocated, gone_deallocated;
    void *stacks[STACKS_KEPT]; // what threads that have ended remembered of their stacks, for others
    uint32_t stacks_kept;
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
    return rounded(sizeof(struct hs_node_cache)) + rounded(sizeof(struct hs_sites)) + hs_memo_size(MEMO_FRAMES);
}

static void lay_out(struct hs_sampler_thread *thread, char *memory)
{
    thread->node_cache = (struct hs_node_cache *)(void *)memory;
    memory += rounded(sizeof *thread->node_cache);
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
        threads.stacks[threads.stacks_kept++] = thread->node_cache;
    else
        hs_memory__unmap(thread->node_cache, stacks_size());
    thread->memo = NULL;
    thread->sites = NULL;
    thread->node_cache = NULL;
}

// ---- who has ended --------------------------------------------------------------------------------------------------

static void bury(struct hs_sampler_thread *thread)
{
    thread->gone = true;
    threads.running--;
    threads.gone_allocated += thread->allocated;
    threads.gone_deallocated += thread->deallocated;
    thread->allocated = thread->deallocated = 0;
    forget_stacks(thread);
}

static bool is_free(const struct hs_sampler_thread *thread)
{
    return thread->gone && !thread->live_objects && !(hs_prof_options.accum && thread->total_objects);
}

void hs_sampler__collect_gone(void)
{
    long pid = hs_system_getpid();
    for (uint32_t i = 1; i <= threads.pool.count; i++) {
        struct hs_sampler_thread *thread = hs_sampler__thread_at(i);
        if (thread->tid && !thread->gone && HS_SYSTEM3(SYS_tgkill, pid, thread->tid, 0) == -ESRCH)
            bury(thread);
    }
}

// A record that means nothing any more. One with our own tid belongs to a dead thread whose number we got.
static struct hs_sampler_thread *find_free(uint32_t tid)
{
    struct hs_sampler_thread *found = NULL;
    for (uint32_t i = 1; i <= threads.pool.count; i++) {
        struct hs_sampler_thread *thread = hs_sampler__thread_at(i);
        if (thread->tid == tid && !thread->gone)
            bury(thread);
        if (!found && (!thread->tid || is_free(thread)))
            found = thread;
    }
    return found;
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

static struct hs_sampler_thread *make_record(uint32_t tid)
{
    if (threads.running >= FIRST_SCAN && threads.running >= threads.next_scan) {
        hs_sampler__collect_gone();
        threads.next_scan = threads.running * 2;
    }
    struct hs_sampler_thread *thread = find_free(tid);
    uint32_t index = thread ? thread->index : hs_pool__allocate(&threads.pool, sizeof(struct hs_sampler_thread));
    if (!index)
        return NULL;
    thread = hs_sampler__thread_at(index);
    *thread = (struct hs_sampler_thread){
        .tid = tid, .index = index, .uid = threads.next_uid++, .ready = true, .quick = hs_sampler.quick};
    threads.running++;
    return thread;
}

struct hs_sampler_thread *hs_sampler__self(void)
{
    struct hs_sampler_thread *thread = hs_sampler_self;
    if (thread->ready)
        return thread;
    hs_sampler__start();
    if (hs_table__is_ours() || !hs_table__lock())
        return NULL;
    thread = make_record((uint32_t)hs_system_gettid());
    if (thread) {
        thread->active = atomic_load_explicit(&hs_sampler.thread_active_init, memory_order_relaxed);
        thread->random = seed_of(thread->uid);
        thread->epoch = atomic_load_explicit(&hs_sampler.rate_epoch, memory_order_relaxed) - 1; // draw at once
        hs_sampler_self = thread;
    }
    hs_table__unlock();
    return thread;
}

void hs_sampler__sizes_are_in_headers(void)
{
    hs_sampler.quick = true;
    for (uint32_t i = 1; i <= threads.pool.count; i++)
        hs_sampler__thread_at(i)->quick = 1;
}

// ---- all threads ----------------------------------------------------------------------------------------------------

uint64_t hs_sampler__total_allocated(void)
{
    uint64_t sum = threads.gone_allocated;
    for (uint32_t i = 1; i <= threads.pool.count; i++)
        sum += hs_sampler__thread_at(i)->allocated;
    return sum;
}

uint64_t hs_sampler__total_deallocated(void)
{
    uint64_t sum = threads.gone_deallocated;
    for (uint32_t i = 1; i <= threads.pool.count; i++)
        sum += hs_sampler__thread_at(i)->deallocated;
    return sum;
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
        self->tid = (uint32_t)hs_system_gettid();
}
