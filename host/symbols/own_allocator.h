// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Allocators that are linked into a program.
#ifndef HEAPSONDE_HOST_SYMBOLS_OWN_ALLOCATOR_H
#define HEAPSONDE_HOST_SYMBOLS_OWN_ALLOCATOR_H

// The function by which the program allocates in itself, where no preloaded library comes between: "malloc", which may
// still call the one that is preloaded, or "je_malloc" and the like, which do not. NULL when its symbols name none. Of
// a stripped program only "malloc" is known.
const char *hs_own_allocator(const char *path);

#endif
