// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The live samples by address. Everything here is under hs_table_lock, except the filter.
//
// The filter answers "certainly not a sample" without a lock. It has two levels, each with one hash value of an
// address. The first is a bit array, which every free tests. A bit stands for 16 bytes of addresses, so that a cache
// line of it covers 8 KiB of the heap, and the array has 32 to 64 bits for a sample: 512 bytes with up to 128 live
// samples, 16 KiB with 4,096. It also stops blocks that are placed like the samples (on their own pages), and always
// stops NULL. The second level has bytes. It is tested only after the first, so it need not be in the cache.
//
// Each level has counters of the samples that a bit or byte stands for; the bytes of the second level are its counters.
// A counter that has reached 255 stays there until the filter is enlarged.
//
// The filter takes at most a sixteenth of HEAPSONDE_MEMORY, and never more than 64 KiB of bits (the smaller ones that
// it replaced take as much together). At that bound it stops more blocks that are no samples. These are looked up in
// the table, which is exact.
//
// Shared words:
//   hs_filter     written under hs_table_lock, by release, when a larger filter is complete; never NULL. Any thread
//   reads
//                 it, relaxed: the rest is read through the pointer (address dependency)
//   hs_sampler_thread.filter     the thread's copy of hs_filter, or hs_filter_of_all (runtime/prof/sampler.h)
//   hs_filter.mask    constant once the filter is published; 0 in the first one until hs_filter__start()
//   hs_filter.bits    written under the lock, relaxed; any thread reads them, relaxed. A bit becomes 1 before the
//   program
//                     gets the block, and 0 after the last sample that it stands for was taken
//   the counters      written under the lock, relaxed; any thread reads those of the second level, relaxed
// hs_filter__hold_always() writes without the lock, while the program starts and has one thread.
//
// Relaxed reads are sufficient: a block is freed by its owner, which got it after its sample was added, by the
// program's own synchronisation. So the owner sees the filter of that moment, or a later one, with the bit set. A
// filter that was replaced is neither changed nor unmapped: a thread that still reads it finds its block there.
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
    uintptr_t mask;  // number of words of the bit array - 1
    uint32_t bits[]; // the first level; after it the second one, then the counters of the first
};

extern struct hs_filter *_Atomic hs_filter __attribute__((visibility("hidden")));

// A filter that stops everything, for threads that must not take the fast path.
extern struct hs_filter hs_filter_of_all __attribute__((visibility("hidden")));

// The bit of a block: HS_FILTER_BIT of the word. Both take few instructions.
#define HS_FILTER_WORD(filter, block) ((block) >> 9 & (filter)->mask)
#define HS_FILTER_BIT(block)          ((block) >> 4 & 31)

// The second level, which has as many bytes as the first has bits.
#define HS_FILTER_BYTES(filter) ((uint8_t *)&(filter)->bits[(filter)->mask + 1])

static inline uintptr_t hs_filter_last_slot(const struct hs_filter *filter)
{
    return filter->mask << 5 | 31;
}

static inline uintptr_t hs_filter_second_slot(const struct hs_filter *filter, uintptr_t block)
{
    uint32_t mixed = (uint32_t)(block >> 4 ^ (uint64_t)block >> 36) * 0x9e3779b1u;
    return mixed >> 8 & hs_filter_last_slot(filter);
}

// Whether the first level stops `block`: it may be a sample, or it is NULL.
static inline bool hs_filter__stops(const struct hs_filter *filter, uintptr_t block)
{
    uint32_t word = filter->bits[HS_FILTER_WORD(filter, block)];
    __asm__("" : "+r"(word)); // read once, as by a relaxed load, whose address takes one more instruction
    return word >> HS_FILTER_BIT(block) & 1;
}

// Whether `block` may be a sample. Never false for a sample.
static inline bool hs_filter__may_hold(uintptr_t block)
{
    const struct hs_filter *filter = atomic_load_explicit(&hs_filter, memory_order_relaxed);
    return hs_filter__stops(filter, block) &&
           __atomic_load_n(&HS_FILTER_BYTES(filter)[hs_filter_second_slot(filter, block)], __ATOMIC_RELAXED) != 0;
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
