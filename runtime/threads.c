// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/threads.h"

#include "arch/system.h"
#include "runtime/config.h"
#include "runtime/journal.h"
#include "runtime/lock.h"
#include "runtime/memory.h"
#include "runtime/output.h"
#include "runtime/python.h"
#include "runtime/slot_source.h"
#include "runtime/text.h"

#include <sys/prctl.h>

enum { LONGEST_RECORD_WORDS = 12, FIRST_SCAN = 16 };

__thread struct hs_thread *hs_thread_self;

static struct {
    struct hs_thread *_Atomic first;
    _Atomic uint32_t count;     // threads whose tid is not 0
    _Atomic uint32_t streams;   // stream numbers given out
    _Atomic uint32_t next_scan; // count at which the list is searched for dead threads
    uint32_t zombie;            // that the kernel keeps although it has ended, or 0
} threads = {.next_scan = FIRST_SCAN};

uint32_t hs_threads__count(void)
{
    return atomic_load_explicit(&threads.count, memory_order_relaxed);
}

uint32_t hs_threads__streams(void)
{
    return atomic_load(&threads.streams);
}

static bool own(struct hs_thread *thread, uint32_t from, uint32_t to)
{
    return atomic_compare_exchange_strong_explicit(&thread->tid, &from, to, memory_order_acq_rel, memory_order_relaxed);
}

// Others see the slot and write the limit.
static void set_slot(struct hs_thread *thread, struct hs_slot *slot, uint32_t words)
{
    __atomic_store_n(&thread->slot, slot, __ATOMIC_RELAXED);
    thread->at = slot ? hs_slot__records(slot) : NULL;
    __atomic_store_n(&thread->limit, slot ? thread->at + words : NULL, __ATOMIC_RELAXED);
}

void hs_thread__flush(struct hs_thread *thread)
{
    if (!thread->slot)
        return;
    hs_slots__submit(thread->slot);
    set_slot(thread, NULL, 0);
}

// Takes over what a dead thread left.
static void retire(struct hs_thread *thread, uint32_t tid)
{
    if (!own(thread, tid, HS_THREAD_TAKEN))
        return;
    hs_thread__flush(thread);
    atomic_fetch_sub(&threads.count, 1);
    atomic_store_explicit(&thread->tid, 0, memory_order_release);
}

static bool has_ended(uint32_t tid)
{
    return tid == threads.zombie || hs_thread_is_gone(tid);
}

void hs_threads__none_is_left(void)
{
    threads.zombie = (uint32_t)hs_system_getpid();
}

void hs_threads__collect_dead(void)
{
    struct hs_thread *thread = atomic_load_explicit(&threads.first, memory_order_acquire);
    for (; thread; thread = thread->next) {
        uint32_t tid = atomic_load_explicit(&thread->tid, memory_order_acquire);
        if (tid != 0 && tid != HS_THREAD_TAKEN && has_ended(tid))
            retire(thread, tid);
    }
    hs_slot_source__notify();
}

static void collect_dead_sometimes(void)
{
    uint32_t at = atomic_load(&threads.next_scan);
    if (hs_threads__count() < at)
        return;
    hs_threads__collect_dead();
    uint32_t count = hs_threads__count();
    atomic_store(&threads.next_scan, count * 2 > FIRST_SCAN ? count * 2 : FIRST_SCAN);
}

// A record that is not in use. One with our own tid belongs to an ended thread whose number we got.
static struct hs_thread *reuse(uint32_t tid)
{
    struct hs_thread *thread = atomic_load_explicit(&threads.first, memory_order_acquire);
    struct hs_thread *found = NULL;
    for (; thread; thread = thread->next) {
        if (atomic_load_explicit(&thread->tid, memory_order_acquire) == tid)
            retire(thread, tid);
        if (!found && own(thread, 0, HS_THREAD_TAKEN))
            found = thread;
    }
    return found;
}

// One mapping: the record, the known sites, the memo. Touched as far as used.
static size_t rounded(size_t size)
{
    return (size + 63) & ~(size_t)63;
}

static size_t record_size(void)
{
    return rounded(sizeof(struct hs_thread)) + rounded(sizeof(struct hs_sites)) +
           hs_memo_size((uint32_t)hs_config.max_depth);
}

static struct hs_thread *create(void)
{
    char *memory = hs_memory__map(record_size());
    if (!memory)
        return NULL;
    struct hs_thread *thread = (struct hs_thread *)memory;
    memory += rounded(sizeof *thread);
    thread->sites = (struct hs_sites *)memory;
    memory += rounded(sizeof *thread->sites);
    thread->memo = hs_memo_create(memory, (uint32_t)hs_config.max_depth);
    atomic_store_explicit(&thread->tid, HS_THREAD_TAKEN, memory_order_relaxed);
    thread->next = atomic_load_explicit(&threads.first, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&threads.first, &thread->next, thread, memory_order_release,
                                                  memory_order_relaxed))
        continue;
    return thread;
}

void hs_thread__forget_stacks(struct hs_thread *thread)
{
    thread->memo->depth = 0;
    hs_sites_forget(thread->sites);
    hs_python__forget(thread->python);
}

static void read_name(char *name)
{
    __builtin_memset(name, 0, 16);
    if (!hs_system_forbids(HS_FORBIDDEN_NAMES))
        HS_SYSTEM2(SYS_prctl, PR_GET_NAME, name);
}

struct hs_thread *hs_threads__register(void)
{
    uint32_t tid = (uint32_t)hs_system_gettid();
    collect_dead_sometimes();
    struct hs_thread *thread = reuse(tid);
    if (!thread)
        thread = create();
    if (!thread)
        return NULL;
    hs_thread__forget_stacks(thread);
    set_slot(thread, NULL, 0);
    thread->last_time = 0;
    thread->inside = HS_OUTSIDE;
    thread->nested = 0;
    thread->number = tid;
    thread->last_recorded = 0;
    thread->stream = atomic_fetch_add(&threads.streams, 1) + 1;
    thread->name[0] = 0;
    atomic_store_explicit(&thread->stack, (uintptr_t)__builtin_frame_address(0), memory_order_relaxed);
    atomic_fetch_add(&threads.count, 1);
    atomic_store_explicit(&thread->tid, tid, memory_order_release);
    hs_thread_self = thread;
    return thread;
}

void hs_threads__take_stacks(bool (*take)(uintptr_t address))
{
    struct hs_thread *thread = atomic_load_explicit(&threads.first, memory_order_acquire);
    for (; thread; thread = thread->next) {
        uintptr_t address = atomic_load_explicit(&thread->stack, memory_order_relaxed);
        if (address && !take(address))
            return;
        // Another owner may have put its own there.
        atomic_compare_exchange_strong_explicit(&thread->stack, &address, 0, memory_order_relaxed,
                                                memory_order_relaxed);
    }
}

// Threads are often named after they have begun to allocate.
static void note_name(struct hs_thread *thread)
{
    char name[16];
    if (thread != hs_thread_self)
        return; // another thread empties it
    read_name(name);
    if (thread->name[0] && hs_text__equal(name, thread->name))
        return;
    __builtin_memcpy(thread->name, name, sizeof name);
    hs_journal__thread(thread->stream, thread->number, name);
}

bool hs_thread__next_slot(struct hs_thread *thread, uint64_t now)
{
    bool filled = thread->slot != NULL;
    hs_thread__flush(thread);
    if (filled)
        hs_slot_source__notify();
    struct hs_slot *slot = hs_slot_source__take(HS_SLOT_EVENTS, thread->stream, now);
    if (!slot)
        return false;
    thread->last_time = now;
    set_slot(thread, slot, HS_SLOT_EVENTS_SIZE / 8 - LONGEST_RECORD_WORDS);
    note_name(thread);
    return true;
}

void hs_threads__part_from(const struct hs_slot *slot)
{
    struct hs_thread *thread = atomic_load_explicit(&threads.first, memory_order_acquire);
    for (; thread; thread = thread->next)
        if (__atomic_load_n(&thread->slot, __ATOMIC_RELAXED) == slot)
            __atomic_store_n(&thread->limit, NULL, __ATOMIC_RELAXED);
}

void hs_threads__disown(void)
{
    for (struct hs_thread *thread = atomic_load(&threads.first); thread; thread = thread->next)
        thread->number = 0;
}

void hs_threads__reset(void)
{
    struct hs_thread *self = hs_thread_self;
    struct hs_thread *thread = atomic_load(&threads.first);
    while (thread) {
        struct hs_thread *next = thread->next;
        if (thread != self) {
            hs_python__free(thread->python);
            hs_memory__unmap(thread, record_size());
        }
        thread = next;
    }
    atomic_store(&threads.first, self);
    atomic_store(&threads.count, self ? 1 : 0);
    atomic_store(&threads.streams, self ? 1 : 0);
    atomic_store(&threads.next_scan, FIRST_SCAN);
    if (!self)
        return;
    self->next = NULL;
    set_slot(self, NULL, 0);
    hs_thread__forget_stacks(self);
    self->stream = 1;
    self->number = (uint32_t)hs_system_gettid();
    self->name[0] = 0;
    atomic_store_explicit(&self->stack, (uintptr_t)__builtin_frame_address(0), memory_order_relaxed);
    atomic_store(&self->tid, self->number);
}
