// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Zeroed memory that grows with the rows of an import. Pages that are never written take no memory.
#ifndef HEAPSONDE_IMPORT_GROWING_H
#define HEAPSONDE_IMPORT_GROWING_H

#include <stddef.h>

struct hs_growing {
    void *data;
    size_t size; // bytes
};

// Grows it to at least `size` bytes; may move `data`. Returns 0 or -ENOMEM.
int hs_growing__reserve(struct hs_growing *memory, size_t size);
void hs_growing__free(struct hs_growing *memory);

#endif
