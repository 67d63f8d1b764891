// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Which allocations are sampled, and the part of it that every call runs.
//
// A thread counts the usable bytes that it allocates. When the count reaches `next`, the slow path decides: the block
// in hand is a sample, or a new `next` is due for another reason (a new thread, a changed rate, a threshold of a dump
// to be looked at). The waits between samples are geometric with mean `sample_bytes` (jemalloc's algorithm), so that a
// block of Z bytes is sampled with probability 1 - (1 - 1/R)^Z whatever came before it; what is left of a wait may be
// thrown away and drawn anew at any time.
//
// The fast path of malloc costs: the record of the thread, the block's size, one addition, one comparison. That of
// free: the same without the comparison, and one byte of the filter (runtime/prof/samples.h). Both read sizes from the
// word before a block; where that may not be done, malloc is given NULL and every free is stopped by the filter.
//
// Shared words:
//   hs_sampler_thread.allocated, .deallocated   written by the owner only; read by anybody, relaxed
//   hs_sampler_thread.next    written by the owner; anybody may store 0, which makes the owner take the slow path
//   hs_sampler_thread.filter  written under the table's lock; read by the owner
//   hs_sampler.rate_epoch     incremented by whoever changes rate or activity, before it stores 0 into every `next`
//   hs_sampler.active, .sample_bytes   under no lock: written by control, read on the slow path
#ifndef HEAPSONDE_RUNTIME_PROF_SAMPLER_H
#define HEAPSONDE_RUNTIME_PROF_SAMPLER_H

#include "arch/arch.h"
#include "runtime/prof/options.h"
#include "runtime/prof/samples.h"
#include "unwind/walk_sites.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HS_THREAD_NAME = 16 };

// One thread of the program. Records are never unmapped, only reused after the thread is gone and nothing refers to
// them.
struct hs_sampler_thread {
    // the fast path's line
    uint64_t allocated;               // usable bytes, since the thread began
    uint64_t next;                    // value of `allocated` at which the slow path is taken
    uint64_t deallocated;             // usable bytes
    struct hs_filter *_Atomic filter; // what the fast path of free asks
    uint32_t quick;           // sizes of blocks may be read from the word before them; 0 in the record that threads
                              // without one of their own share
    volatile uint32_t inside; // the thread is in the profiler or in the real allocator's slow half: nothing is sampled
    // the slow path's
    uint64_t random;                           // state of the generator
    uint64_t seen_allocated, seen_deallocated; // what has gone into the process's totals
    uint64_t peak_base, peak_highest;          // thread.peak
    uint64_t sample_at;                        // value of `allocated` at which the next sample is due
    uint32_t epoch;                            // rate_epoch at the last draw
    uint32_t index;                            // of this record
    uint32_t next_free;                        // index of the next record that means nothing
    bool ready;                                // false in the record that threads without one of their own share
    uint32_t tid;
    uint32_t uid;          // 0, 1, ... by first contact
    bool active;           // thread.prof.active
    bool gone;             // the thread has ended; its samples live on
    uint64_t live_objects; // samples; under the table's lock, like total_objects
    uint64_t total_objects;
    char name[HS_THREAD_NAME]; // thread.prof.name, terminated
    struct hs_memo *memo;      // these three are made at the first sample
    struct hs_sites *sites;
    struct hs_node_cache *node_cache;
    uint32_t nested; // allocations in a row while inside
};

extern __thread struct hs_sampler_thread *hs_sampler_self __attribute__((tls_model("initial-exec")));

struct hs_sampler {
    bool quick;   // what new threads get as `quick`
    uint32_t pid; // of this process
    _Atomic uint32_t rate_epoch;
    _Atomic bool on;     // sampling machinery is in use: opt.prof, or switched on by control later
    _Atomic bool active; // prof.active
    _Atomic bool thread_active_init;
    _Atomic bool gdump;
    _Atomic bool peaks;       // somebody looks at thread.peak
    uint64_t sample_bytes;    // mean bytes between samples now; under the table's lock for writing
    uint64_t reset_at_ns;     // CLOCK_REALTIME of the last start or reset
    uint64_t active_since_ns; // CLOCK_REALTIME of the last change of `active`, or of the start
    uint64_t dropped;         // samples that could not be kept: no memory, no lock; under the table's lock
};

#pragma GCC visibility push(hidden)
extern struct hs_sampler hs_sampler;

// The allocator keeps the size of a block, flags in the lowest three bits, in the word before it, as glibc does. False:
// that cannot be used.
bool hs_sampler__sizes_are_in_headers(void);

// After something was entered into the filter and before anybody may free it: makes threads see a filter that is new.
void hs_sampler__spread_filter(void);

// Once, when the options are known.
void hs_sampler__start(void);

// Whether profiling can be used at all (opt.prof, or switched on from outside since).
bool hs_sampler__is_on(void);

// Makes profiling usable in a process that was started without prof:true. Idempotent.
void hs_sampler__switch_on(void);

// prof.active. Returns what it was. Takes effect at once in every thread.
bool hs_sampler__set_active(bool active);

// Changes the mean number of bytes between samples; what was sampled keeps its weight. `bytes` >= 1.
void hs_sampler__set_rate(uint64_t bytes);

// prof.reset: forgets every sample and every count. Frees of older samples are ignored.
void hs_sampler__reset(void);

// The calling thread's record, made when it has none; NULL without memory, where the stack has less than 8 KiB, and in
// a child of vfork: such a thread is left alone.
struct hs_sampler_thread *hs_sampler__self(void);

// Makes the calling thread, one of ours whose thread-local variables are empty, one without a record.
void hs_sampler__be_nobody(void);

// The record of index 1 to hs_sampler__thread_count(). `tid` 0: not in use.
struct hs_sampler_thread *hs_sampler__thread_at(uint32_t index);
uint32_t hs_sampler__thread_count(void);

// Notices which threads have ended. Under the table's lock.
void hs_sampler__collect_gone(void);

// The slow path of an allocation of `usable` bytes: `thread->allocated` does not count it yet. Counts it.
// `requested`: what the program asked for. `caller`: the frame that called the allocation function.
void hs_sampler__allocated_slowly(struct hs_sampler_thread *thread, const struct hs_registers *caller, void *block,
                                  size_t requested, size_t usable);

// The slow path of a free: `block` may be a sample. Before the real free. `caller` NULL: unknown.
void hs_sampler__released_slowly(struct hs_sampler_thread *thread, const struct hs_registers *caller, uintptr_t block);

// Around a real realloc of a block that may be a sample: takes the sample out; gives it back when realloc failed.
struct hs_taken_sample {
    uint32_t index; // 0: it was none
    uint32_t life;  // changes with hs_sampler__reset(), which forgets what is taken, too
};
struct hs_taken_sample hs_sampler__take(struct hs_sampler_thread *thread, uintptr_t block);
void hs_sampler__give_back(struct hs_sampler_thread *thread, struct hs_taken_sample taken);
void hs_sampler__drop(struct hs_sampler_thread *thread, struct hs_taken_sample taken);

// Whether this is another process in this one's memory: a child of vfork.
bool hs_sampler__is_vforked(void);

// Sums over all threads.
uint64_t hs_sampler__total_allocated(void);
uint64_t hs_sampler__total_deallocated(void);

// Around fork, in the thread that forks.
void hs_sampler__before_fork(void);
void hs_sampler__after_fork(bool in_child);
#pragma GCC visibility pop

#endif
