// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Allocators that are linked into a program or that it requires.
#ifndef HEAPSONDE_HOST_SYMBOLS_OWN_ALLOCATOR_H
#define HEAPSONDE_HOST_SYMBOLS_OWN_ALLOCATOR_H

#include <stdint.h>

// The function of the program's own allocator, which preloaded libraries do not intercept: "malloc", which may still
// call the preloaded one, or "je_malloc" and the like, which do not. NULL: its symbols contain none. In a stripped
// program only "malloc" is found.
const char *hs_own_allocator(const char *path);

// What a file defines of malloc, the allocators above and operator new.
struct hs_own_functions {
    const char *allocator; // as above
    const char *new_name;  // "operator new", or NULL
    // As the file has them.
    uint64_t allocator_address, allocator_size, new_address, new_size;
};

void hs_own_functions(const char *path, struct hs_own_functions *functions);

// The memory that a program's file takes when it is loaded, with its variables. 0: not known.
uint64_t hs_loaded_size(const char *path);

// The function by which a program gets memory from the kernel, "mmap", if it calls no function that allocates. NULL: it
// calls one, or neither.
const char *hs_maps_alone(const char *path);

// The name of the sanitizer that a program was compiled for, or whose runtime a library is; NULL: none that replaces
// the allocator. Such a runtime serves malloc itself, and stops if another library comes before it.
const char *hs_sanitizer(const char *path);

#endif
