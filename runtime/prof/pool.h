// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Records of one size that never move; each has an index from 1. Pages are touched only as far as they are used. The
// caller locks. With HEAPSONDE_MEMORY a pool takes at most an eighth of it, unless it is `unbounded`.
#ifndef HEAPSONDE_RUNTIME_PROF_POOL_H
#define HEAPSONDE_RUNTIME_PROF_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HS_POOL_SEGMENT_BITS = 14, HS_POOL_SEGMENTS = 16384 };

// `size` below: the size of a record, at least 4, always the same for one pool. Zeroed memory is an empty pool. The
// first word of a released record links to the next released one.
struct hs_pool {
    uint32_t count; // indices 1..count were used
    uint32_t free;
    bool unbounded;
    char *segments[HS_POOL_SEGMENTS];
};

static inline void *hs_pool__at(const struct hs_pool *pool, size_t size, uint32_t index)
{
    return pool->segments[index >> HS_POOL_SEGMENT_BITS] + (size_t)(index & ((1u << HS_POOL_SEGMENT_BITS) - 1)) * size;
}

#pragma GCC visibility push(hidden)
// A zeroed record; 0: there is no memory for more.
uint32_t hs_pool__allocate(struct hs_pool *pool, size_t size);
void hs_pool__release(struct hs_pool *pool, size_t size, uint32_t index);

// Releases all records, and returns the memory to the kernel.
void hs_pool__empty(struct hs_pool *pool, size_t size);
#pragma GCC visibility pop

#endif
