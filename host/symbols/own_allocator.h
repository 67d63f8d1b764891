// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Allocators that are linked into a program, or wanted by it.
#ifndef HEAPSONDE_HOST_SYMBOLS_OWN_ALLOCATOR_H
#define HEAPSONDE_HOST_SYMBOLS_OWN_ALLOCATOR_H

// The function by which the program allocates in itself, where no preloaded library comes between: "malloc", which may
// still call the one that is preloaded, or "je_malloc" and the like, which do not. NULL when its symbols name none. Of
// a stripped program only "malloc" is known.
const char *hs_own_allocator(const char *path);

// The sanitizer that a program was compiled for, or whose runtime a library is, in words; NULL: none that replaces the
// allocator. Its runtime serves malloc itself, and stops where another library comes before it.
const char *hs_sanitizer(const char *path);

#endif
