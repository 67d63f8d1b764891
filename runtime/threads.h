// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the recorder keeps for each thread of the program. No destructor is needed: a thread that is gone is noticed by
// its tid when another one begins, so threads made with raw clone(2) and events after TLS destructors are recorded too.
//
// Shared word: `tid` of a thread: 0 free, HS_THREAD_TAKEN being handed over, else the owner. Only the owner touches the
// other fields; ownership passes by an acquire/release compare-and-swap on `tid`.
#ifndef HEAPSONDE_RUNTIME_THREADS_H
#define HEAPSONDE_RUNTIME_THREADS_H

#include "runtime/slots.h"
#include "runtime/stacks.h"
#include "unwind/walk_sites.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define HS_THREAD_TAKEN 0xffffffffu

// Where the thread is: what a hook that interrupts it, or that its allocator calls, may do.
enum hs_inside {
    HS_OUTSIDE = 0,
    HS_INSIDE_REAL = 1,     // in the program's allocator: what it calls itself is not recorded
    HS_INSIDE_RECORDER = 2, // the record is being written: nothing may be recorded
};

struct hs_thread {
    uint64_t *at;    // next record of the slot
    uint64_t *limit; // no record begins at or behind it
    uint64_t last_time;
    struct hs_memo *memo;
    struct hs_sites *sites;
    struct hs_node_cache *node_cache;
    struct hs_slot *slot;
    volatile uint32_t inside; // enum hs_inside
    uint32_t stream;
    uint32_t nested;         // hooks refused in a row; many mean that `inside` was abandoned by longjmp
    uint32_t number;         // the owner's tid, without the atomic
    uintptr_t last_recorded; // address of the newest allocation: an operator new above may have it recorded already
    char name[16];
    _Atomic uint32_t tid;
    struct hs_thread *next; // all threads ever, newest first; never removed
};

extern __thread struct hs_thread *hs_thread_self __attribute__((tls_model("initial-exec")));

// The calling thread's record, made when it has none. NULL when there is no memory.
struct hs_thread *hs_threads__register(void);

// Number of threads that have records, dead ones not yet noticed included.
uint32_t hs_threads__count(void);

// Number of streams given out: threads that ever had records.
uint32_t hs_threads__streams(void);

// Submits the slots of threads that are gone.
void hs_threads__collect_dead(void);

// The first thread of the process has ended, too. The kernel does not tell this while there is another thread.
void hs_threads__none_is_left(void);

// Forgets the stacks that the thread remembers.
void hs_thread__forget_stacks(struct hs_thread *thread);

// Takes a new slot for the thread and submits the old one. False if none is available.
bool hs_thread__next_slot(struct hs_thread *thread, uint64_t now);

// Submits the thread's slot.
void hs_thread__flush(struct hs_thread *thread);

// In a forked child: keeps only the calling thread, with nothing recorded.
void hs_threads__reset(void);

#endif
