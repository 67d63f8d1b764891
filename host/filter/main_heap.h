// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef HEAPSONDE_FILTER_MAIN_HEAP_H
#define HEAPSONDE_FILTER_MAIN_HEAP_H

#include "host/store/store.h"

// The range of glibc's main arena; empty if there is none. main_heap.c
struct hs_main_heap {
    uint64_t from, to;
};
void hs_main_heap__find(const struct hs_store *store, struct hs_main_heap *heap);
bool hs_main_heap__has(const struct hs_main_heap *heap, const struct hs_store *store, uint64_t row);

#endif
