// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Growing arrays for the tables of an import.
#ifndef HEAPSONDE_IMPORT_ARRAY_H
#define HEAPSONDE_IMPORT_ARRAY_H

#include <stdint.h>
#include <stdlib.h>

struct hs_array {
    void *data;
    size_t count, capacity;
};

// Returns a new, uninitialised element. NULL: out of memory.
static inline void *hs_array__add(struct hs_array *array, size_t element)
{
    if (array->count == array->capacity) {
        size_t capacity = array->capacity ? 2 * array->capacity : 32;
        void *grown = realloc(array->data, capacity * element);
        if (!grown)
            return NULL;
        array->data = grown;
        array->capacity = capacity;
    }
    return (char *)array->data + element * array->count++;
}

#endif
