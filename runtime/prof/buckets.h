// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Heads of hash chains: a power of two of indices, which doubles when needed. The records contain the links.
#ifndef HEAPSONDE_RUNTIME_PROF_BUCKETS_H
#define HEAPSONDE_RUNTIME_PROF_BUCKETS_H

#include "runtime/memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_buckets {
    uint32_t *heads;
    uint32_t mask; // number of heads - 1
    uint32_t used; // records in the chains
};

enum { HS_BUCKETS_FIRST = 1024 };

static inline uint32_t *hs_buckets__head(const struct hs_buckets *buckets, uint32_t hash)
{
    return &buckets->heads[hash & buckets->mask];
}

// If `buckets` is full or does not exist yet, *larger becomes a table of twice the size. False: no change.
static inline bool hs_buckets__outgrown(const struct hs_buckets *buckets, struct hs_buckets *larger)
{
    if (buckets->heads && buckets->used <= buckets->mask)
        return false;
    uint32_t heads = buckets->heads ? 2 * (buckets->mask + 1) : HS_BUCKETS_FIRST;
    if (!heads || !(larger->heads = hs_memory__map((size_t)heads * sizeof *larger->heads)))
        return false;
    larger->mask = heads - 1;
    larger->used = buckets->used;
    return true;
}

static inline void hs_buckets__unmap(struct hs_buckets *buckets)
{
    if (buckets->heads)
        hs_memory__unmap(buckets->heads, (size_t)(buckets->mask + 1) * sizeof *buckets->heads);
    *buckets = (struct hs_buckets){0};
}

#endif
