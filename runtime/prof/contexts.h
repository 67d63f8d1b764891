// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What is known of the sampled stacks: for each pair of a stack and the thread that allocated, what lives and what was
// ever allocated. Counts are kept twice: as sampled, and as estimates of what they stand for (a sample of Z bytes taken
// at a mean distance of R bytes stands for 1 / (1 - e^(-Z/R)) blocks), so that the rate can change while samples live.
//
// One lock, hs_table_lock, protects pairs, samples (runtime/prof/samples.h), the thread list's slow fields and what
// hooks into them; the walk of a stack happens outside.
#ifndef HEAPSONDE_RUNTIME_PROF_CONTEXTS_H
#define HEAPSONDE_RUNTIME_PROF_CONTEXTS_H

#include "runtime/lock.h"

#include <stdbool.h>
#include <stdint.h>

struct hs_counts {
    uint64_t objects, bytes;        // as sampled
    uint64_t estimated_objects_q16; // in 1/65536
    uint64_t estimated_bytes;
};

// `stack` is a node of runtime/stacks.h; 0 is never used.
struct hs_pair {
    uint32_t stack;
    uint32_t thread; // uid
    uint32_t next;   // in its bucket
    uint32_t record; // index of the thread's record
    struct hs_counts live, total;
};

extern struct hs_lock hs_table_lock;

#pragma GCC visibility push(hidden)
// Takes and leaves hs_table_lock for the calling thread. `false`: it could not be had in two seconds; nothing is held.
bool hs_table__lock(void);
void hs_table__unlock(void);

// Whether the calling thread holds it.
bool hs_table__is_ours(void);

// The pair, made when it is new. Its index, from 1; 0 without memory. Under the lock.
uint32_t hs_pairs__find(uint32_t stack, uint32_t thread, uint32_t record);
struct hs_pair *hs_pairs__at(uint32_t index);
void hs_pairs__forget(void); // all of them

// ---- a copy to dump from --------------------------------------------------------------------------------------------

// What a dump shows: a consistent moment. Pairs with nothing to show are left out, the others are ordered by stack,
// then by thread. Threads are ordered by uid.
struct hs_profile_snapshot_thread {
    uint32_t uid;
    char name[16];
    struct hs_counts live, total;
};

struct hs_profile_snapshot {
    struct hs_pair *pairs;
    uint32_t pair_count;
    struct hs_profile_snapshot_thread *threads;
    uint32_t thread_count;
    uint32_t stack_count; // different stacks among the pairs
    struct hs_counts live, total;
    uint64_t sample_bytes;      // the rate now: the PERIOD that readers scale with
    uint64_t real_ns, since_ns; // CLOCK_REALTIME now and when counting began
    uint64_t samples_dropped;
    void *memory; // private
    uint64_t memory_size;
};

// Takes the copy; the lock is held for the copying only. `with_total`: pairs that live no more are in it, too
// (prof_accum). False without memory. Not from signal handlers that interrupted the profiler.
bool hs_profile_snapshot__take(struct hs_profile_snapshot *snapshot, bool with_total);
void hs_profile_snapshot__free(struct hs_profile_snapshot *snapshot);

// The stack's return addresses, innermost first, as unwound (without Thumb bit and pointer authentication). At most
// `limit`; returns their number, at least 1 for every stack of a snapshot. `cut`: whether the stack is known to be
// incomplete.
uint32_t hs_profile_snapshot__frames(uint32_t stack, uintptr_t *frames, uint32_t limit, bool *cut);

// What a file is to hold for `counts`, so that readers that scale by 1 / (1 - e^(-mean size / R)) arrive at the
// estimate; as sampled with prof_unbias:false and where every byte is a sample.
struct hs_written_counts {
    uint64_t objects, bytes;
};
struct hs_written_counts hs_counts__to_write(const struct hs_counts *counts, uint64_t sample_bytes);
#pragma GCC visibility pop

#endif
