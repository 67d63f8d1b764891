// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Arrays that grow by one element at a time.
#ifndef HEAPSONDE_HOST_EXPORT_GROW_H
#define HEAPSONDE_HOST_EXPORT_GROW_H

#include <errno.h>
#include <stdlib.h>

// Makes room for element number `count`. Returns 0 or -ENOMEM.
static inline int hs_grow(void **array, size_t *room, size_t count, size_t element)
{
    if (count < *room)
        return 0;
    void *bigger = reallocarray(*array, 2 * *room + 256, element);
    if (!bigger)
        return -ENOMEM;
    *array = bigger;
    *room = 2 * *room + 256;
    return 0;
}

#endif
