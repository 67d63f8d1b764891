// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What was allocated before the library came into a running process, as glibc's mallinfo2 says it.
#ifndef HEAPSONDE_SHIMS_COMMON_HEAP_INFO_H
#define HEAPSONDE_SHIMS_COMMON_HEAP_INFO_H

#include <stddef.h>
#include <stdint.h>

// glibc's struct mallinfo2: `allocated` is in the heap, `mapped` in mappings of their own.
struct hs_heap_info {
    size_t arena, free_chunks, fast_chunks, mappings, mapped, unused, fast, allocated, available, top;
};

// `mallinfo2` is the address of that function.
static inline size_t hs_heap_info__bytes(uintptr_t mallinfo2)
{
    const struct hs_heap_info info = ((struct hs_heap_info(*)(void))mallinfo2)();
    return info.allocated + info.mapped;
}

#endif
