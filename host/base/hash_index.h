// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A hash index over the elements of an array: it holds the numbers of elements, and the caller compares elements.
#ifndef HEAPSONDE_BASE_HASH_INDEX_H
#define HEAPSONDE_BASE_HASH_INDEX_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define HS_HASH_NONE UINT32_MAX

// All zero: empty.
struct hs_hash_index {
    uint64_t *slot; // 32 bits of the hash << 32 | number + 1; 0: free. Other elements are seldom compared, and a larger
                    // table is made without them
    size_t slots;   // a power of two
    size_t count;
};

// A hash whose upper 32 bits depend on all bits of both. These are the bits that the index uses.
static inline uint64_t hs_hash__pair(uint64_t first, uint64_t second)
{
    return (first * 0x9e3779b97f4a7c15u ^ second) * 0xbf58476d1ce4e5b9u;
}

// A hash of all values that were mixed into it.
static inline uint64_t hs_hash__mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

// Whether the element with this number is the searched one.
typedef bool (*hs_hash_comparison)(const void *key, uint32_t number);

// The number of the element, or HS_HASH_NONE.
static inline uint32_t hs_hash_index__find(const struct hs_hash_index *index, uint64_t hash,
                                           hs_hash_comparison is_element, const void *key)
{
    if (!index->slots)
        return HS_HASH_NONE;
    const size_t mask = index->slots - 1;
    for (size_t i = (size_t)(hash >> 32) & mask; index->slot[i]; i = (i + 1) & mask) {
        const uint32_t number = (uint32_t)index->slot[i] - 1;
        if (index->slot[i] >> 32 == hash >> 32 && is_element(key, number))
            return number;
    }
    return HS_HASH_NONE;
}

static inline void hs_hash_index__insert(struct hs_hash_index *index, uint64_t entry)
{
    const size_t mask = index->slots - 1;
    size_t i = (size_t)(entry >> 32) & mask;
    while (index->slot[i])
        i = (i + 1) & mask;
    index->slot[i] = entry;
}

static inline int hs_hash_index__grow(struct hs_hash_index *index)
{
    struct hs_hash_index bigger = {.slots = index->slots ? 2 * index->slots : 1024, .count = index->count};
    bigger.slot = calloc(bigger.slots, sizeof(*bigger.slot));
    if (!bigger.slot)
        return -ENOMEM;
    for (size_t i = 0; i < index->slots; i++)
        if (index->slot[i])
            hs_hash_index__insert(&bigger, index->slot[i]);
    free(index->slot);
    *index = bigger;
    return 0;
}

// Adds an element that hs_hash_index__find does not find. `number`: below HS_HASH_NONE. Returns 0 or -ENOMEM.
static inline int hs_hash_index__add(struct hs_hash_index *index, uint64_t hash, uint32_t number)
{
    if (2 * index->count >= index->slots && hs_hash_index__grow(index))
        return -ENOMEM;
    hs_hash_index__insert(index, hash >> 32 << 32 | (number + 1));
    index->count++;
    return 0;
}

// Removes all elements and keeps the memory.
static inline void hs_hash_index__clear(struct hs_hash_index *index)
{
    if (index->slots)
        memset(index->slot, 0, index->slots * sizeof(*index->slot));
    index->count = 0;
}

static inline void hs_hash_index__free(struct hs_hash_index *index)
{
    free(index->slot);
    *index = (struct hs_hash_index){0};
}

#endif
