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
#ifndef HEAPSONDE_RUNTIME_PROF_SAMPLER_H
#define HEAPSONDE_RUNTIME_PROF_SAMPLER_H

#include "arch/arch.h"
#include "runtime/prof/sampler_threads.h"

#pragma GCC visibility push(hidden)
// Makes profiling available in a process that was started without prof:true. Idempotent.
void hs_sampler__switch_on(void);

// prof.active. Returns the previous value. Takes effect at once in every thread.
bool hs_sampler__set_active(bool active);

// Changes the mean number of bytes between samples; existing samples keep their weight. `bytes` >= 1.
void hs_sampler__set_rate(uint64_t bytes);

// Adds what the allocator held before the first thread was counted. False: the lock was not free; try again.
bool hs_sampler__add_older(uint64_t bytes);

// prof.reset: removes all samples and counts. Frees of older samples are ignored.
void hs_sampler__reset(void);

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

// Before and after fork, in the thread that forks. A signal handler that interrupted a fork may fork. `locks` is what
// before_fork returned: the locks that this fork has taken.
uint64_t hs_sampler__before_fork(void);
void hs_sampler__after_fork(bool in_child, uint64_t locks);
#pragma GCC visibility pop

#endif
