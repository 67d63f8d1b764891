// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The recorder's own memory: whole pages from the kernel, never from the program's allocator.
#ifndef HEAPSONDE_RUNTIME_MEMORY_H
#define HEAPSONDE_RUNTIME_MEMORY_H

#include "arch/system.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Zeroed pages, or NULL. They take memory when they are first touched. Any thread; async-signal-safe.
static inline void *hs_memory__map(size_t length)
{
    return hs_system_memory(length);
}

// The same, aligned to `length` (a power of two), in a huge page if the kernel has one.
void *hs_memory__map_huge(size_t length);
void hs_memory__unmap(void *memory, size_t length);

// Puts `fresh`, of hs_memory__map(length), in the place of the mapping `memory` in one step: other threads that use
// that see one or the other. False: it is as before, and `fresh` is unmapped.
bool hs_memory__replace(void *memory, void *fresh, size_t length);

size_t hs_memory__page_size(void);

// The value that the kernel passed for `wanted` (AT_* of <elf.h>) at the start of the program; 0: none.
uintptr_t hs_memory__auxiliary(unsigned long wanted);

// Reads `length` bytes at `address` of this process without faulting. Returns the number of bytes read.
size_t hs_memory__read(uintptr_t address, void *buffer, size_t length);

#endif
