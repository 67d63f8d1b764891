// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/prof/pool.h"

#include "runtime/config.h"
#include "runtime/memory.h"

uint32_t hs_pool__allocate(struct hs_pool *pool, size_t size)
{
    uint32_t index = pool->free;
    if (index) {
        void *record = hs_pool__at(pool, size, index);
        pool->free = *(uint32_t *)record;
        __builtin_memset(record, 0, size);
        return index;
    }
    index = pool->count + 1;
    uint32_t segment = index >> HS_POOL_SEGMENT_BITS;
    bool bounded = hs_config.memory && !pool->unbounded;
    if (segment >= HS_POOL_SEGMENTS || (bounded && (uint64_t)index * size > hs_config.memory / 8))
        return 0;
    if (!pool->segments[segment])
        pool->segments[segment] = hs_memory__map(size << HS_POOL_SEGMENT_BITS);
    if (!pool->segments[segment])
        return 0;
    pool->count = index;
    return index;
}

void hs_pool__release(struct hs_pool *pool, size_t size, uint32_t index)
{
    *(uint32_t *)hs_pool__at(pool, size, index) = pool->free;
    pool->free = index;
}

void hs_pool__empty(struct hs_pool *pool, size_t size)
{
    for (uint32_t i = 0; i < HS_POOL_SEGMENTS && pool->segments[i]; i++) {
        hs_memory__unmap(pool->segments[i], size << HS_POOL_SEGMENT_BITS);
        pool->segments[i] = NULL;
    }
    pool->count = pool->free = 0;
}
