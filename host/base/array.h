// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Arrays that grow.
#ifndef HEAPSONDE_BASE_ARRAY_H
#define HEAPSONDE_BASE_ARRAY_H

#include <stdlib.h>
#include <string.h>

enum { HS_ARRAY_FIRST_ROOM = 16 };

// Whether an array with room for `room` elements has room for one after the first `count`. A full array is moved to
// twice the room; false: out of memory, and the array is as it was. An array with room 0 is NULL. The arguments are
// evaluated more than once.
#define HS_ARRAY_HAS_ROOM(array, count, room)                                                                          \
    ((count) < (room) || __extension__({                                                                               \
         const size_t hs_wanted = (room) ? 2 * (size_t)(room) : HS_ARRAY_FIRST_ROOM;                                   \
         void *const hs_grown = reallocarray((array), hs_wanted, sizeof(*(array)));                                    \
         if (hs_grown) {                                                                                               \
             (array) = hs_grown;                                                                                       \
             (room) = (__typeof__(room))hs_wanted;                                                                     \
         }                                                                                                             \
         hs_grown != NULL;                                                                                             \
     }))

struct hs_array {
    void *data;
    size_t count, capacity;
};

// Returns a new, uninitialised element. NULL: out of memory.
static inline void *hs_array__add(struct hs_array *array, size_t element)
{
    if (array->count == array->capacity) {
        const size_t capacity = array->capacity ? 2 * array->capacity : HS_ARRAY_FIRST_ROOM;
        void *grown = reallocarray(array->data, capacity, element);
        if (!grown)
            return NULL;
        array->data = grown;
        array->capacity = capacity;
    }
    return (char *)array->data + element * array->count++;
}

// The element at an index; those that the array does not have yet are zeros. NULL: out of memory.
static inline void *hs_array__reach(struct hs_array *array, size_t index, size_t element)
{
    while (index >= array->count) {
        void *added = hs_array__add(array, element);
        if (!added)
            return NULL;
        memset(added, 0, element);
    }
    return (char *)array->data + element * index;
}

#endif
