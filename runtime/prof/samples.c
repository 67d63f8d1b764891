// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/prof/samples.h"

#include "arch/likely.h"
#include "runtime/config.h"
#include "runtime/memory.h"
#include "runtime/prof/buckets.h"
#include "runtime/prof/pool.h"

enum { FILTER_FIRST = 4096, FILTER_LIMIT = 1 << 19, SLOTS_PER_SAMPLE = 32, SATURATED = 255, HELD_LIMIT = 512 };

#define FILTER_SIZE(slots) (sizeof(struct hs_filter) + (slots) / 8 + 2 * (slots))

// Until hs_filter__start() its mask is 0, and nothing is in it.
static _Alignas(64) uint8_t first_filter[FILTER_SIZE(FILTER_FIRST)];

struct hs_filter *_Atomic hs_filter = (struct hs_filter *)(void *)first_filter;
struct hs_filter hs_filter_of_all = {0, {UINT32_MAX}};

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

// A counter that was full once no longer knows how many it stands for.
static void count(uint8_t *counter, int change)
{
    if (*counter != SATURATED)
        __atomic_store_n(counter, (uint8_t)(*counter + change), __ATOMIC_RELAXED);
}

// Adds a block (1), or takes it out (-1).
static __attribute__((noinline)) void change(struct hs_filter *filter, uintptr_t block, int by)
{
    uint32_t *word = &filter->bits[HS_FILTER_WORD(filter, block)], bit = (uint32_t)1 << HS_FILTER_BIT(block);
    uintptr_t last = hs_filter_last_slot(filter);
    uint8_t *bytes = HS_FILTER_BYTES(filter), *counter = &bytes[last + 1 + (block >> 4 & last)];
    count(&bytes[hs_filter_second_slot(filter, block)], by);
    count(counter, by);
    __atomic_store_n(word, *counter ? *word | bit : *word & ~bit, __ATOMIC_RELAXED);
}

static struct hs_filter *current_filter(void)
{
    return atomic_load_explicit(&hs_filter, memory_order_relaxed);
}

static HS_COLD void change_all(struct hs_filter *filter, int by)
{
    for (uint32_t head = 0; samples.buckets.heads && head <= samples.buckets.mask; head++)
        for (uint32_t i = samples.buckets.heads[head]; i; i = hs_samples__at(i)->next)
            change(filter, hs_samples__at(i)->block, by);
}

// A filter in zeroed memory, with everything that it has to hold.
static HS_COLD struct hs_filter *make_filter(void *memory, size_t slots)
{
    struct hs_filter *filter = memory;
    filter->mask = slots / 32 - 1;
    filter->bits[0] = 1; // NULL
    HS_FILTER_BYTES(filter)[slots] = SATURATED;
    for (uint32_t i = 0; i < samples.held_count; i++)
        change(filter, samples.held[i], 1);
    change_all(filter, 1);
    return filter;
}

HS_COLD void hs_filter__start(void)
{
    if (!((struct hs_filter *)(void *)first_filter)->mask)
        make_filter(first_filter, FILTER_FIRST);
}

static HS_COLD bool may_have(size_t slots)
{
    return slots <= FILTER_LIMIT && (!hs_config.memory || FILTER_SIZE(slots) <= hs_config.memory / 16);
}

// Makes room for one more block.
static HS_COLD void prepare_filter(void)
{
    hs_filter__start();
    size_t slots = hs_filter_last_slot(current_filter()) + 1;
    if (slots >= ((size_t)samples.buckets.used + 1) * SLOTS_PER_SAMPLE || !may_have(2 * slots))
        return;
    void *memory = hs_memory__map(FILTER_SIZE(2 * slots));
    if (memory)
        atomic_store_explicit(&hs_filter, make_filter(memory, 2 * slots), memory_order_release);
}

HS_COLD void hs_filter__hold_always(uintptr_t block)
{
    if (samples.held_count == HELD_LIMIT)
        return;
    prepare_filter();
    samples.held[samples.held_count++] = block;
    change(current_filter(), block, 1);
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
    change(current_filter(), block, -1);
    return index;
}

// The filter first, because the thread that frees the block reads it without a lock.
void hs_samples__put_back(uint32_t index)
{
    change(current_filter(), hs_samples__at(index)->block, 1);
    samples.buckets.used++;
    link(&samples.buckets, index);
}

uint32_t hs_samples__insert(const struct hs_sample *sample, uint32_t *stale)
{
    *stale = hs_samples__take(sample->block);
    grow();
    if (!samples.buckets.heads)
        return 0;
    uint32_t index = hs_pool__allocate(&samples.pool, sizeof(struct hs_sample));
    if (!index)
        return 0;
    prepare_filter(); // only for a block that is added: the caller spreads the filter then
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
    change_all(current_filter(), -1);
    hs_buckets__unmap(&samples.buckets);
    hs_pool__empty(&samples.pool, sizeof(struct hs_sample));
}
