// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The live samples: which blocks of the program they are. Everything here is under hs_table_lock, but for the filter.
//
// The filter answers "surely no sample" for a block without a lock: counters (saturating bytes), one for each of two
// hash values. The first is cheap enough for every free; it passes more of what lies like the samples do (pages of
// their own), and NULL always. The second asks about what passed. A block's owner alone frees it, and it got the block
// after the sample was entered; so a relaxed read of the bytes is enough. It grows with the number of samples; an old
// filter is kept, for threads that still read it.
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
    uint32_t weight; // index of the rate it was taken at
    uint32_t note;   // whoever records recent allocations or the log: an index of theirs, 0: none
};

struct hs_filter {
    uintptr_t mask;     // slots - 1
    uint8_t counters[]; // one for each slot, then one for each second hash value
};

extern struct hs_filter *_Atomic hs_filter __attribute__((visibility("hidden")));

// What stops everything; for threads that must not take the fast path.
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

// Whether the first hash value stops `block`: it may be a sample, or NULL.
static inline bool hs_filter__stops(const struct hs_filter *filter, uintptr_t block)
{
    uint8_t counter = filter->counters[hs_filter_slot(filter, block)];
    __asm__("" : "+r"(counter)); // x86: a load and a test are fewer operations than a comparison in memory
    return counter != 0;
}

// Whether `block` may be a sample. Never false for one.
static inline bool hs_filter__may_hold(uintptr_t block)
{
    const struct hs_filter *filter = atomic_load_explicit(&hs_filter, memory_order_relaxed);
    return filter->counters[hs_filter_slot(filter, block)] != 0 &&
           filter->counters[hs_filter_second_slot(filter, block)] != 0;
}

#pragma GCC visibility push(hidden)
// Enters a block; its index, 0 without memory. A sample of the same address that is still there (its free was not seen)
// is returned in *stale, taken out, to be settled by the caller; else *stale is 0.
uint32_t hs_samples__insert(const struct hs_sample *sample, uint32_t *stale);

// Takes the sample of a block out of the table and keeps its entry; 0: there is none.
uint32_t hs_samples__take(uintptr_t block);

// Puts an entry that was taken out back.
void hs_samples__put_back(uint32_t index);

// Gives up an entry that was taken out.
void hs_samples__free(uint32_t index);

struct hs_sample *hs_samples__at(uint32_t index);
uint32_t hs_samples__count(void);
void hs_samples__forget(void); // all of them

// Makes the first filter.
void hs_filter__start(void);

// A block that is to be noticed by the filter for good, without being a sample: those of the bootstrap arena.
void hs_filter__hold_always(uintptr_t block);
#pragma GCC visibility pop

#endif
