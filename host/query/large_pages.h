// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Memory for much that is written at once: large pages spare most of the faults.
#ifndef HEAPSONDE_QUERY_LARGE_PAGES_H
#define HEAPSONDE_QUERY_LARGE_PAGES_H

#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

// Uninitialised; the caller's to free().
static inline void *hs_large_pages__get(size_t size)
{
    const size_t page = (size_t)2 << 20;
    size = (size + page) & ~(page - 1);
    void *room = aligned_alloc(page, size);
    if (room && size > 2 * page) // a little of it must not take a whole page
        madvise(room, size, MADV_HUGEPAGE);
    return room;
}

#endif
