// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/prof/samples.h"

#include "arch/likely.h"
#include "runtime/memory.h"
#include "runtime/prof/buckets.h"
#include "runtime/prof/pool.h"

enum { FILTER_FIRST = 4096, FILTER_LIMIT = 1 << 19, SLOTS_PER_SAMPLE = 32, SATURATED = 255, HELD_LIMIT = 512 };

#define FILTER_SIZE(slots) (sizeof(struct hs_filter) + 2 * (slots))

// Until hs_filter__start() its mask is 0, and nothing is in it.
static _Alignas(64) uint8_t first_filter[FILTER_SIZE(FILTER_FIRST)];

struct hs_filter *_Atomic hs_filter = (struct hs_filter *)(void *)first_filter;
struct hs_filter hs_filter_of_all = {0, {SATURATED, SATURATED}};

static struct {
    struct hs_buckets buckets;
    uint32_t held_count;
    uintptr_t held[HELD_LIMIT]; // by hs_filter__hold_always()
    struct hs_pool pool;
} samples;

struct hs_sample *hs_samples__at(uint32_t index)
{
    return hs_pool__at(&samples.pool, sizeof(struct hs_sample), index);
}

uint32_t hs_samples__count(void)
{
    return samples.buckets.used;
}

static uint32_t hash_of(uintptr_t block)
{
    return (uint32_t)((uint64_t)(block >> 4) * 0x9e3779b97f4a7c15ull >> 32);
}

// ---- the filter -----------------------------------------------------------------------------------------------------

static void increment(uint8_t *counter)
{
    if (*counter != SATURATED)
        __atomic_store_n(counter, *counter + 1, __ATOMIC_RELAXED);
}

// A counter that was full once no longer knows how many it stands for.
static void decrement(uint8_t *counter)
{
    if (*counter != SATURATED && *counter != 0)
        __atomic_store_n(counter, *counter - 1, __ATOMIC_RELAXED);
}

static void hold(struct hs_filter *filter, uintptr_t block)
{
    increment(&filter->counters[hs_filter_slot(filter, block)]);
    increment(&filter->counters[hs_filter_second_slot(filter, block)]);
}

static void let_go(uintptr_t block)
{
    struct hs_filter *filter = atomic_load_explicit(&hs_filter, memory_order_relaxed);
    decrement(&filter->counters[hs_filter_slot(filter, block)]);
    decrement(&filter->counters[hs_filter_second_slot(filter, block)]);
}

// Into an empty one.
static HS_COLD void fill(struct hs_filter *filter)
{
    __atomic_store_n(&filter->counters[hs_filter_slot(filter, 0)], SATURATED, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < samples.held_count; i++)
        hold(filter, samples.held[i]);
    for (uint32_t head = 0; samples.buckets.heads && head <= samples.buckets.mask; head++)
        for (uint32_t i = samples.buckets.heads[head]; i; i = hs_samples__at(i)->next)
            hold(filter, hs_samples__at(i)->block);
}

HS_COLD void hs_filter__start(void)
{
    struct hs_filter *first = (struct hs_filter *)(void *)first_filter;
    if (first->mask)
        return;
    first->mask = FILTER_FIRST - 1;
    fill(first);
}

// Makes room for one more block.
static HS_COLD void prepare_filter(void)
{
    hs_filter__start();
    struct hs_filter *old = atomic_load_explicit(&hs_filter, memory_order_relaxed);
    size_t slots = old->mask + 1, wanted = ((size_t)samples.buckets.used + 1) * SLOTS_PER_SAMPLE;
    if (slots >= wanted || slots >= FILTER_LIMIT)
        return;
    slots = 4 * slots < FILTER_LIMIT ? 4 * slots : FILTER_LIMIT;
    struct hs_filter *filter = hs_memory__map(FILTER_SIZE(slots));
    if (!filter)
        return;
    filter->mask = slots - 1;
    fill(filter);
    atomic_store_explicit(&hs_filter, filter, memory_order_release);
}

HS_COLD void hs_filter__hold_always(uintptr_t block)
{
    if (samples.held_count == HELD_LIMIT)
        return;
    prepare_filter();
    samples.held[samples.held_count++] = block;
    hold(atomic_load_explicit(&hs_filter, memory_order_relaxed), block);
}

// ---- the table ------------------------------------------------------------------------------------------------------

static void link(struct hs_buckets *buckets, uint32_t index)
{
    struct hs_sample *sample = hs_samples__at(index);
    uint32_t *head = hs_buckets__head(buckets, hash_of(sample->block));
    sample->next = *head;
    *head = index;
}

static HS_COLD void grow(void)
{
    struct hs_buckets larger;
    if (!hs_buckets__outgrown(&samples.buckets, &larger))
        return;
    for (uint32_t head = 0; samples.buckets.heads && head <= samples.buckets.mask; head++)
        for (uint32_t i = samples.buckets.heads[head], next; i; i = next) {
            next = hs_samples__at(i)->next;
            link(&larger, i);
        }
    hs_buckets__unmap(&samples.buckets);
    samples.buckets = larger;
}

uint32_t hs_samples__take(uintptr_t block)
{
    if (!samples.buckets.heads)
        return 0;
    uint32_t *at = hs_buckets__head(&samples.buckets, hash_of(block));
    while (*at && hs_samples__at(*at)->block != block)
        at = &hs_samples__at(*at)->next;
    uint32_t index = *at;
    if (!index)
        return 0;
    *at = hs_samples__at(index)->next;
    samples.buckets.used--;
    let_go(block);
    return index;
}

// The filter first, because the thread that frees the block reads it without a lock.
void hs_samples__put_back(uint32_t index)
{
    hold(atomic_load_explicit(&hs_filter, memory_order_relaxed), hs_samples__at(index)->block);
    samples.buckets.used++;
    link(&samples.buckets, index);
}

uint32_t hs_samples__insert(const struct hs_sample *sample, uint32_t *stale)
{
    *stale = hs_samples__take(sample->block);
    grow();
    if (!samples.buckets.heads)
        return 0;
    prepare_filter();
    uint32_t index = hs_pool__allocate(&samples.pool, sizeof(struct hs_sample));
    if (!index)
        return 0;
    *hs_samples__at(index) = *sample;
    hs_samples__put_back(index);
    return index;
}

void hs_samples__free(uint32_t index)
{
    hs_pool__release(&samples.pool, sizeof(struct hs_sample), index);
}

HS_COLD void hs_samples__forget(void)
{
    hs_buckets__unmap(&samples.buckets);
    hs_pool__empty(&samples.pool, sizeof(struct hs_sample));
    struct hs_filter *filter = atomic_load_explicit(&hs_filter, memory_order_relaxed);
    for (uintptr_t i = 1; i < 2 * (filter->mask + 1); i++) // a thread may be freeing NULL, which is stopped at 0
        __atomic_store_n(&filter->counters[i], 0, __ATOMIC_RELAXED);
    fill(filter);
}
