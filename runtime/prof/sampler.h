// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Decides which allocations are sampled; contains the part that every call runs.
//
// A thread counts the usable bytes that it allocates. When the count reaches `next`, the slow path decides: the current
// block is a sample, or `next` has to be set for another reason (a new thread, a changed rate, a threshold of a dump).
// The distances between samples are geometric with mean `sample_bytes` (jemalloc's algorithm). So a block of Z bytes is
// sampled with probability 1 - (1 - 1/R)^Z, whatever came before it, and the rest of a distance may be discarded and
// drawn again at any time.
//
// The fast path of malloc costs: the record of the thread, the size of the block, one addition, one comparison. That of
// free costs the same without the comparison, and one bit of the filter (runtime/prof/samples.h). Both read the size
// from the word before the block. If that is not allowed, malloc passes NULL, and the filter stops every free.
//
// Shared words:
//   hs_sampler_thread.allocated, .deallocated   written by the owner only; any thread may read them, relaxed
//   hs_sampler_thread.next    written by the owner; any thread may store 0, so that the owner takes the slow path
//   hs_sampler_thread.filter  written under the table's lock; read by the owner
//   hs_sampler.rate_epoch     incremented after a change of rate or activity, before 0 is stored into every `next`
//   hs_sampler.active, .sample_bytes   without a lock: written by control, read on the slow path
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

// One thread of the program. Records are never unmapped; one is reused only after its thread has ended and nothing
// refers to it.
struct hs_sampler_thread {
    // The cache line of the fast path:
    uint64_t allocated;               // usable bytes, since the thread began
    uint64_t next;                    // value of `allocated` at which the slow path is taken
    uint64_t deallocated;             // usable bytes
    struct hs_filter *_Atomic filter; // the filter for the fast path of free
    uint32_t quick; // sizes of blocks may be read from the word before them; 0 in the record that threads
                    // without one of their own share
    volatile uint32_t
        inside; // the thread is in the profiler or in the slow part of the real allocator: nothing is sampled
    // The slow path:
    uint64_t random;                           // state of the generator
    uint64_t seen_allocated, seen_deallocated; // the part that was added to the process's totals
    uint64_t peak_base, peak_highest;          // thread.peak
    uint64_t sample_at;                        // value of `allocated` at which the next sample is due
    uint32_t epoch;                            // rate_epoch at the last draw
    uint32_t index;                            // of this record
    uint32_t next_free;                        // index of the next unused record
    bool ready;                                // false in the record that is shared by threads without their own
    uint32_t tid;
    uint32_t uid;          // 0, 1, ... in the order of their first call
    bool active;           // thread.prof.active
    bool gone;             // the thread has ended, but has live samples
    uint64_t live_objects; // samples; under the table's lock, as total_objects
    uint64_t total_objects;
    char name[HS_THREAD_NAME]; // thread.prof.name, terminated
    struct hs_memo *memo;      // these three are created at the first sample
    struct hs_sites *sites;
    struct hs_node_cache *node_cache;
    uint32_t nested;      // number of consecutive allocations while inside
    uint32_t shortening;  // 1 or 2 while the thread shortens a stack, else 0
    uint32_t locks_taken; // by its forks
};

extern __thread struct hs_sampler_thread *hs_sampler_self __attribute__((tls_model("initial-exec")));

struct hs_sampler {
    bool quick;   // the initial `quick` of new threads
    uint32_t pid; // of this process
    _Atomic uint32_t rate_epoch;
    _Atomic bool on;     // the sampling machinery is in use: opt.prof, or switched on later by control
    _Atomic bool active; // prof.active
    _Atomic bool thread_active_init;
    _Atomic bool gdump;
    _Atomic bool peaks;       // thread.peak is used
    uint64_t sample_bytes;    // the current mean distance of samples in bytes; written under the table's lock
    uint64_t reset_at_ns;     // CLOCK_REALTIME of the last start or reset
    uint64_t active_since_ns; // CLOCK_REALTIME of the last change of `active`, or of the start
    uint64_t dropped;         // samples that were not kept, without memory or lock; under the table's lock
    uint64_t shortened;       // samples of which only the innermost frames were kept; under the table's lock
};

#pragma GCC visibility push(hidden)
extern struct hs_sampler hs_sampler;

// The allocator stores the size of a block, with flags in the lowest three bits, in the word before it, like glibc.
// False: this cannot be used.
bool hs_sampler__sizes_are_in_headers(void);

// Call after an addition to the filter and before the block can be freed: makes threads use a new filter.
void hs_sampler__spread_filter(void);

// Call once, when the options are known.
void hs_sampler__start(void);

// Whether profiling can be used: opt.prof, or switched on later from outside.
bool hs_sampler__is_on(void);

// Makes profiling available in a process that was started without prof:true. Idempotent.
void hs_sampler__switch_on(void);

// prof.active. Returns the previous value. Takes effect at once in every thread.
bool hs_sampler__set_active(bool active);

// Changes the mean number of bytes between samples; existing samples keep their weight. `bytes` >= 1.
void hs_sampler__set_rate(uint64_t bytes);

// prof.reset: removes all samples and counts. Frees of older samples are ignored.
void hs_sampler__reset(void);

// The record of the calling thread; it is created if it does not exist. NULL: out of memory, less than 8 KiB of stack
// left, or a child of vfork. Such a thread is not sampled.
struct hs_sampler_thread *hs_sampler__self(void);

// Makes the calling thread, one of ours with empty thread-local variables, a thread without a record of its own, such
// as hs_sampler_nobody.
void hs_sampler__be(struct hs_sampler_thread *record);

// Of a library that was put into a running process: where hs_sampler_self will be, from the thread pointer on; 0: where
// it is.
extern intptr_t hs_sampler_self_will_be_at;

// The record of threads that have none.
extern struct hs_sampler_thread hs_sampler_nobody;

// Nothing is sampled any more, and no thread gets a record. No record has the number of a thread afterwards.
void hs_sampler__end(void);

// Adds what the allocator held before the first thread was counted. False: the lock was not free; try again.
bool hs_sampler__add_older(uint64_t bytes);

// The record with index 1 to hs_sampler__thread_count(). `tid` 0: unused.
struct hs_sampler_thread *hs_sampler__thread_at(uint32_t index);
uint32_t hs_sampler__thread_count(void);

// Finds threads that have ended. Requires the table's lock.
void hs_sampler__collect_gone(void);

// The slow path of an allocation of `usable` bytes, which it adds to `thread->allocated`. `requested`: the requested
// size. `caller`: the frame that called the allocation function.
void hs_sampler__allocated_slowly(struct hs_sampler_thread *thread, const struct hs_registers *caller, void *block,
                                  size_t requested, size_t usable);

// The slow path of a free: `block` may be a sample. Call before the real free. `caller` NULL: unknown. Without the
// lock, the sample is taken out by whoever has the lock next.
void hs_sampler__released_slowly(struct hs_sampler_thread *thread, const struct hs_registers *caller, uintptr_t block);

// Before and after a real realloc of a block that may be a sample: takes the sample out, and puts it back if realloc
// fails. Without the lock, the sample is taken out later, and not put back.
struct hs_taken_sample {
    uint32_t index; // 0: not a sample
    uint32_t life;  // changed by hs_sampler__reset(), which also removes samples that were taken out
};
struct hs_taken_sample hs_sampler__take(struct hs_sampler_thread *thread, uintptr_t block);
void hs_sampler__give_back(struct hs_sampler_thread *thread, struct hs_taken_sample taken);
void hs_sampler__drop(struct hs_sampler_thread *thread, struct hs_taken_sample taken);

// Whether this is another process in the memory of this one: a child of vfork.
bool hs_sampler__is_vforked(void);

// Sums over all threads.
uint64_t hs_sampler__total_allocated(void);
uint64_t hs_sampler__total_deallocated(void);

// Before and after fork, in the thread that forks. A signal handler that interrupted a fork may fork.
void hs_sampler__before_fork(void);
void hs_sampler__after_fork(bool in_child);
#pragma GCC visibility pop

#endif
