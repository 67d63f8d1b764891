// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The size classes of jemalloc 5 with 16-byte quanta and 4 KiB pages: for the size model, nallocx() and the nodes
// arenas.bin.* and arenas.lextent.*.
#ifndef HEAPSONDE_RUNTIME_PROF_SIZE_CLASSES_H
#define HEAPSONDE_RUNTIME_PROF_SIZE_CLASSES_H

#include <stdint.h>

#pragma GCC visibility push(hidden)
// The size class for a request of `size` bytes; 0: too large for any.
uint64_t hs_size_class(uint64_t size);

// The i-th class, from 0; 0 after the last.
uint64_t hs_size_class__at(uint32_t i);

// The index of a class.
uint32_t hs_size_class__index(uint64_t size);
#pragma GCC visibility pop

#endif
