// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Counts per pair of a sampled stack and the thread that allocated: what is live and what was ever allocated. There are
// two kinds of counts: of samples, and estimates of what the samples represent (a sample of Z bytes at a mean distance
// of R bytes represents 1 / (1 - e^(-Z/R)) blocks). With estimates, the rate may change while samples are live.
//
// Contexts take a bounded part of HEAPSONDE_MEMORY, or of its default: pairs an eighth, the frames of their stacks
// (runtime/prof/stack_frames.h) a quarter. What happens when a part is nearly full, in this order:
//  1. Pairs without live samples are removed, unless prof_accum keeps them.
//  2. From 14/16 on, a sample that needs a new frame or pair counts for the 4 innermost frames of its stack; the dump
//     shows such a stack as cut. From 15/16 on, for the innermost frame. These samples are counted as shortened. All
//     sums stay right.
//  3. When the part is full, the sample is dropped, and counted.
//
// One lock, hs_table_lock, protects the pairs, the samples (runtime/prof/samples.h), the fields of threads that only
// the slow path uses, and what is called under it. Stacks are walked outside the lock.
#ifndef HEAPSONDE_RUNTIME_PROF_CONTEXTS_H
#define HEAPSONDE_RUNTIME_PROF_CONTEXTS_H

#include "runtime/prof/table_lock.h"

#include <stdbool.h>
#include <stdint.h>

struct hs_counts {
    uint64_t objects, bytes;        // samples
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

#pragma GCC visibility push(hidden)
void hs_counts__add(struct hs_counts *sum, const struct hs_counts *counts);

// The index, from 1, of the pair, which is created if it does not exist; 0: no room. Requires the lock.
uint32_t hs_pairs__find(uint32_t stack, uint32_t thread, uint32_t record);
struct hs_pair *hs_pairs__at(uint32_t index);
void hs_pairs__forget(void); // removes all pairs

// ---- a copy for dumps
// ------------------------------------------------------------------------------------------------

// The contents of a dump at one instant. Pairs without counts are left out; the others are sorted by stack, then by
// thread. Threads are sorted by uid.
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
    uint64_t sample_bytes;      // the current rate: the PERIOD with which readers scale
    uint64_t real_ns, since_ns; // CLOCK_REALTIME now, and when counting began
    uint64_t samples_dropped, samples_shortened;
    void *memory; // private
    uint64_t memory_size;
};

// Makes the copy; the lock is held only meanwhile. `with_total`: include pairs that are no longer live (prof_accum).
// False: out of memory. Not to be called in signal handlers that interrupted the profiler.
bool hs_profile_snapshot__take(struct hs_profile_snapshot *snapshot, bool with_total);
void hs_profile_snapshot__free(struct hs_profile_snapshot *snapshot);

// The return addresses of a stack, innermost first, as unwound (without Thumb bit and pointer authentication). Writes
// at most `limit` and returns their number, which is at least 1 for a stack of a snapshot. `cut`: the stack is known to
// be incomplete.
uint32_t hs_profile_snapshot__frames(uint32_t stack, uintptr_t *frames, uint32_t limit, bool *cut);

// The numbers for a file, such that a reader that scales by 1 / (1 - e^(-mean size / R)) gets the estimate. Without
// change if prof_unbias:false, or if every byte is a sample.
struct hs_written_counts {
    uint64_t objects, bytes;
};
struct hs_written_counts hs_counts__to_write(const struct hs_counts *counts, uint64_t sample_bytes);
#pragma GCC visibility pop

#endif
