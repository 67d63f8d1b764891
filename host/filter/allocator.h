// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Which allocator the recorded program had, as far as the trace tells: from the names of its libraries.
#ifndef HEAPSONDE_FILTER_ALLOCATOR_H
#define HEAPSONDE_FILTER_ALLOCATOR_H

#include "host/store/store.h"

enum hs_allocator { HS_ALLOCATOR_UNKNOWN, HS_ALLOCATOR_GLIBC, HS_ALLOCATOR_JEMALLOC };

enum hs_allocator hs_allocator__of(const struct hs_store *store);

// Whether glibc gave a heap block a mapping of its own: these blocks lie and end elsewhere than others. Only for
// HS_ALLOCATOR_GLIBC.
bool hs_allocator__is_mapped(const struct hs_store *store, uint64_t row);

#endif
