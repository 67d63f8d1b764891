// SPDX-License-Identifier: MIT OR Apache-2.0
//
// An allocator that nothing but its names says to be one.
#ifndef HEAPSONDE_TESTS_INJECT_TOY_ALLOCATOR_H
#define HEAPSONDE_TESTS_INJECT_TOY_ALLOCATOR_H

#include <stddef.h>

void *toy_malloc(size_t size);
void *toy_calloc(size_t count, size_t size);
void *toy_realloc(void *block, size_t size);
void toy_free(void *block);

#endif
