// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The recorder's record for each thread of the program. It needs no destructors: an ended thread is noticed by its tid
// when another one begins. So threads made with raw clone(2), and events after TLS destructors, are also recorded.
//
// Shared words of a thread. Only the owner accesses the other fields.
//   tid    0: free; HS_THREAD_TAKEN: being passed on; else the owner. Ownership passes by an acquire/release
//          compare-and-swap
//   slot   written by the owner; others only compare it
//   limit  of the owner; the sender of the stream may write NULL, which makes the owner take a new slot with its next
//          record. It carries nothing else, so no order is needed: a NULL that the owner overwrites is lost, and one
//          that meets a newer slot makes that one end early
#ifndef HEAPSONDE_RUNTIME_THREADS_H
#define HEAPSONDE_RUNTIME_THREADS_H

#include "runtime/slots.h"
#include "runtime/stacks.h"
#include "unwind/walk_sites.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define HS_THREAD_TAKEN 0xffffffffu

// What the thread is doing, which decides what a hook in it may do. (The hook may be called by its allocator, or by a
// signal handler.)
enum hs_inside {
    HS_OUTSIDE = 0,
    HS_INSIDE_REAL = 1,     // in the program's allocator: its own calls are not recorded
    HS_INSIDE_RECORDER = 2, // a record is being written: nothing may be recorded
};

struct hs_thread {
    uint64_t *at;    // next record of the slot
    uint64_t *limit; // records begin before this; NULL: a new slot is due
    uint64_t last_time;
    struct hs_memo *memo;
    struct hs_sites *sites;
    struct hs_slot *slot;
    volatile uint32_t inside; // enum hs_inside
    uint32_t stream;
    uint32_t nested; // consecutive hooks that were refused; many mean that longjmp has abandoned `inside`
    uint32_t number; // the owner's tid, until nobody owns the record
    uintptr_t
        last_recorded; // address of the newest allocation: an operator new that called malloc must not record it again
    struct hs_python_thread *python; // NULL: none yet
    char name[16];
    _Atomic uintptr_t stack; // an address on the owner's stack, until it was taken
    _Atomic uint32_t tid;
    struct hs_thread *next; // all threads that ever existed, newest first; never removed
};

extern __thread struct hs_thread *hs_thread_self __attribute__((tls_model("initial-exec")));

// The owner's tid, also after hs_threads__disown(): whoever is still in the library may take locks.
static inline uint32_t hs_thread__tid(const struct hs_thread *thread)
{
    return atomic_load_explicit(&thread->tid, memory_order_relaxed);
}

// The record of the calling thread; it is created if it does not exist. NULL: out of memory.
struct hs_thread *hs_threads__register(void);

// Number of threads with records, including ended ones that were not noticed yet.
uint32_t hs_threads__count(void);

// Number of streams: all threads that ever had records.
uint32_t hs_threads__streams(void);

// Submits the slots of threads that have ended.
void hs_threads__collect_dead(void);

// Call when the first thread of the process has ended, which the kernel does not tell while there is another thread.
void hs_threads__none_is_left(void);

// Calls `take` with an address on the stack of each thread that was not taken before, until it returns false.
void hs_threads__take_stacks(bool (*take)(uintptr_t address));

// Drops the stacks that the thread remembers.
void hs_thread__forget_stacks(struct hs_thread *thread);

// Takes a new slot for the thread and submits the old one. False if none is available.
bool hs_thread__next_slot(struct hs_thread *thread, uint64_t now);

// The thread that fills this slot leaves it before its next record. Any thread may ask for it.
void hs_threads__part_from(const struct hs_slot *slot);

// Submits the thread's slot.
void hs_thread__flush(struct hs_thread *thread);

// Nobody owns a record any more: not even a thread that finds it where an ended one has left it.
void hs_threads__disown(void);

// In a forked child: keeps only the calling thread, with nothing recorded.
void hs_threads__reset(void);

#endif
