// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A small arena for allocations that happen while the real functions are being looked up. Blocks are never reused.
#include "shims/common/real.h"

#include <stdatomic.h>
#include <stdint.h>

enum { ARENA_SIZE = 64 * 1024, HEADER = 16 };

static _Alignas(64) unsigned char arena[ARENA_SIZE];
static _Atomic size_t used;

bool hs_bootstrap__owns(const void *block)
{
    return (uintptr_t)block - (uintptr_t)arena < ARENA_SIZE;
}

void *hs_bootstrap__allocate(size_t alignment, size_t size)
{
    if (alignment < HEADER)
        alignment = HEADER;
    size_t start = atomic_load_explicit(&used, memory_order_relaxed), block;
    do {
        block = (start + HEADER + alignment - 1) & ~(alignment - 1);
        if (size > ARENA_SIZE || block > ARENA_SIZE - size)
            return NULL;
    } while (!atomic_compare_exchange_weak(&used, &start, block + size));
    *(size_t *)(arena + block - sizeof(size_t)) = size;
    return arena + block;
}

size_t hs_bootstrap__size(const void *block)
{
    return *(const size_t *)((const unsigned char *)block - sizeof(size_t));
}
