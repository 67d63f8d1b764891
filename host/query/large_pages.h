// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Memory for large arrays that are filled at once. Large pages save most of the page faults.
#ifndef HEAPSONDE_QUERY_LARGE_PAGES_H
#define HEAPSONDE_QUERY_LARGE_PAGES_H

#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HS_LARGE_PAGE ((size_t)2 << 20)

// Uninitialised; the caller's to free().
static inline void *hs_large_pages__get(size_t size)
{
    if (size <= HS_LARGE_PAGE) // a small part must not take a whole page
        return malloc(size ? size : 1);
    size = (size + HS_LARGE_PAGE) & ~(HS_LARGE_PAGE - 1);
    void *room = aligned_alloc(HS_LARGE_PAGE, size);
    if (room && size > 2 * HS_LARGE_PAGE)
        madvise(room, size, MADV_HUGEPAGE);
    return room;
}

// Returns the unused part to the system. Use the result in place of `room`. Otherwise a small part of a large page
// would keep the whole page.
static inline void *hs_large_pages__fit(void *room, size_t used)
{
    void *fitting = malloc_usable_size(room) < used + HS_LARGE_PAGE / 8 ? NULL
                    : used > 2 * HS_LARGE_PAGE                          ? realloc(room, used)
                                                                        : malloc(used ? used : 1);
    if (fitting && used <= 2 * HS_LARGE_PAGE) {
        memcpy(fitting, room, used);
        free(room);
    }
    return fitting ? fitting : room;
}

#endif
