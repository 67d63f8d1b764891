// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What <jemalloc/jemalloc.h> declares, for machines that have no such header.
#ifndef HEAPSONDE_TESTS_MALLCTL_DECLARATIONS_H
#define HEAPSONDE_TESTS_MALLCTL_DECLARATIONS_H

#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>
#include <strings.h>

#define MALLOCX_ALIGN(alignment) (ffs((int)(alignment)) - 1)
#define MALLOCX_ZERO             0x40
#define MALLOCX_TCACHE(cache)    ((int)(((cache) + 2) << 8))
#define MALLOCX_ARENA(arena)     ((int)(((arena) + 1) << 20))

// The library has to find the program's.
#define EXPORTED __attribute__((visibility("default")))
extern EXPORTED void (*malloc_message)(void *opaque, const char *message);
extern EXPORTED const char *malloc_conf;

int mallctl(const char *name, void *old, size_t *old_length, void *new, size_t new_length);
int mallctlnametomib(const char *name, size_t *mib, size_t *depth);
int mallctlbymib(const size_t *mib, size_t depth, void *old, size_t *old_length, void *new, size_t new_length);
void malloc_stats_print(void (*write)(void *opaque, const char *text), void *opaque, const char *letters);
void *mallocx(size_t size, int flags);
void *rallocx(void *block, size_t size, int flags);
size_t xallocx(void *block, size_t size, size_t extra, int flags);
size_t sallocx(const void *block, int flags);
size_t nallocx(size_t size, int flags);
void dallocx(void *block, int flags);
void sdallocx(void *block, size_t size, int flags);

#endif
