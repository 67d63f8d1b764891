// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The record of a thread of the program, and the state of the sampler (runtime/prof/sampler.h).
//
// Shared words:
//   hs_sampler_thread.allocated, .deallocated   written by the owner only; any thread may read them, relaxed
//   hs_sampler_thread.next    written by the owner; any thread may store 0, so that the owner takes the slow path
//   hs_sampler_thread.filter  written under the table's lock; read by the owner
//   hs_sampler.rate_epoch     incremented after a change of rate or activity, before 0 is stored into every `next`
//   hs_sampler.active, .sample_bytes   without a lock: written by control, read on the slow path
#ifndef HEAPSONDE_RUNTIME_PROF_SAMPLER_THREAD_H
#define HEAPSONDE_RUNTIME_PROF_SAMPLER_THREAD_H

#include "arch/system.h"
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
    struct hs_memo *memo;      // these two are created at the first sample
    struct hs_sites *sites;
    uint32_t nested;     // number of consecutive allocations while inside
    uint32_t shortening; // 1 or 2 while the thread shortens a stack, else 0
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
    _Atomic bool peaks;        // thread.peak is used
    uint64_t sample_bytes;     // the current mean distance of samples in bytes; written under the table's lock
    uint64_t reset_at_ns;      // CLOCK_REALTIME of the last start or reset
    uint64_t active_since_ns;  // CLOCK_REALTIME of the last change of `active`, or of the start
    _Atomic uintptr_t dropped; // samples that were not kept, without memory or lock
    uint64_t shortened;        // samples of which only the innermost frames were kept; under the table's lock
};

#pragma GCC visibility push(hidden)
extern struct hs_sampler hs_sampler;
#pragma GCC visibility pop

static inline uint32_t hs_sampler__own_tid(void)
{
    return hs_sampler_self->ready ? hs_sampler_self->tid : (uint32_t)hs_system_gettid();
}

#endif
