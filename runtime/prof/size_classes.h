// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The size classes that jemalloc 5 has with 16-byte quanta and 4 KiB pages: for the size model, nallocx() and the nodes
// arenas.bin.* and arenas.lextent.*.
#ifndef HEAPSONDE_RUNTIME_PROF_SIZE_CLASSES_H
#define HEAPSONDE_RUNTIME_PROF_SIZE_CLASSES_H

#include <stdint.h>

#pragma GCC visibility push(hidden)
// The class that a request of `size` bytes is served from; 0 when it is too large for any.
uint64_t hs_size_class(uint64_t size);

// The i-th class, from 0; 0 behind the last.
uint64_t hs_size_class__at(uint32_t i);

// The place of a class among them.
uint32_t hs_size_class__index(uint64_t size);
#pragma GCC visibility pop

#endif
