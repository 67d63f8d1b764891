// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The live samples by address. Everything here is under hs_table_lock, except the filter.
//
// The filter answers "certainly not a sample" without a lock. It has saturating byte counters, one for each of two hash
// values of an address. The first hash is cheap enough for every free. It also passes blocks that are placed like the
// samples (on their own pages), and always passes NULL. The second is checked only after that. A block is freed by its
// owner, which got it after the sample was added, so relaxed reads are sufficient. The filter grows with the number of
// samples; old filters are kept for threads that still read them.
#ifndef HEAPSONDE_RUNTIME_PROF_SAMPLES_H
#define HEAPSONDE_RUNTIME_PROF_SAMPLES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// One live sample: 40 bytes, and 4 to 8 in the buckets.
struct hs_sample {
    uintptr_t block;
    uint64_t usable; // bytes, by the allocator
    uint64_t requested;
    uint32_t pair;   // runtime/prof/contexts.h
    uint32_t next;   // in its bucket
    uint32_t weight; // index of the rate at which it was taken
    uint32_t note;   // index of a record for recent allocations or the log; 0: none
};

struct hs_filter {
    uintptr_t mask;     // number of slots - 1
    uint8_t counters[]; // one per slot, then one per second hash value
};

extern struct hs_filter *_Atomic hs_filter __attribute__((visibility("hidden")));

// A filter that stops everything, for threads that must not take the fast path.
extern struct hs_filter hs_filter_of_all __attribute__((visibility("hidden")));

static inline uintptr_t hs_filter_slot(const struct hs_filter *filter, uintptr_t block)
{
    return block >> 4 & filter->mask;
}

static inline uintptr_t hs_filter_second_slot(const struct hs_filter *filter, uintptr_t block)
{
    uint32_t mixed = (uint32_t)(block >> 4 ^ (uint64_t)block >> 36) * 0x9e3779b1u;
    return filter->mask + 1 + (mixed >> 8 & filter->mask);
}

// Whether the first hash value stops `block`: it may be a sample, or it is NULL.
static inline bool hs_filter__stops(const struct hs_filter *filter, uintptr_t block)
{
    uint8_t counter = filter->counters[hs_filter_slot(filter, block)];
    __asm__("" : "+r"(counter)); // x86: a load and a test are fewer micro-operations than a comparison with memory
    return counter != 0;
}

// Whether `block` may be a sample. Never false for a sample.
static inline bool hs_filter__may_hold(uintptr_t block)
{
    const struct hs_filter *filter = atomic_load_explicit(&hs_filter, memory_order_relaxed);
    return filter->counters[hs_filter_slot(filter, block)] != 0 &&
           filter->counters[hs_filter_second_slot(filter, block)] != 0;
}

#pragma GCC visibility push(hidden)
// Adds a block and returns its index; 0: out of memory. If there is still a sample with the same address (its free was
// not seen), it is taken out and returned in *stale, and the caller handles it; else *stale is 0.
uint32_t hs_samples__insert(const struct hs_sample *sample, uint32_t *stale);

// Takes the sample of a block out of the table but keeps its entry; 0: not a sample.
uint32_t hs_samples__take(uintptr_t block);

// Puts an entry back that was taken out.
void hs_samples__put_back(uint32_t index);

// Releases an entry that was taken out.
void hs_samples__free(uint32_t index);

struct hs_sample *hs_samples__at(uint32_t index);
uint32_t hs_samples__count(void);
void hs_samples__forget(void); // removes all samples

// Creates the first filter.
void hs_filter__start(void);

// Makes the filter always stop a block that is not a sample: those of the bootstrap arena.
void hs_filter__hold_always(uintptr_t block);
#pragma GCC visibility pop

#endif
