// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The C API of jemalloc, except for allocation.
#ifndef HEAPSONDE_SHIMS_PROF_MALLCTL_H
#define HEAPSONDE_SHIMS_PROF_MALLCTL_H

#include <stddef.h>

extern void (*malloc_message)(void *opaque, const char *message);
extern const char *malloc_conf, *malloc_conf_2_conf_harder;

int mallctl(const char *name, void *old, size_t *old_length, void *new, size_t new_length);
int mallctlnametomib(const char *name, size_t *mib, size_t *depth);
int mallctlbymib(const size_t *mib, size_t depth, void *old, size_t *old_length, void *new, size_t new_length);
void malloc_stats_print(void (*write)(void *opaque, const char *text), void *opaque, const char *letters);

#pragma GCC visibility push(hidden)
// The functions of an allocator behind us that is jemalloc itself; NULL when it is none. What is not profiling is
// passed on to them.
struct hs_next_ctl {
    int (*mallctl)(const char *name, void *old, size_t *old_length, void *new, size_t new_length);
    int (*mallctlnametomib)(const char *name, size_t *mib, size_t *depth);
    int (*mallctlbymib)(const size_t *mib, size_t depth, void *old, size_t *old_length, void *new, size_t new_length);
    void (*malloc_stats_print)(void (*write)(void *opaque, const char *text), void *opaque, const char *letters);
};

const struct hs_next_ctl *hs_prof_ctl__next(void);

// There is none, and nobody looks for one.
void hs_prof_ctl__is_alone(void);

// Once, when the options are known: comes to terms with an allocator that profiles itself.
void hs_prof_ctl__start(void);

// At the end of the process: the statistics, when stats_print asks for them, and the log of allocations.
void hs_prof_ctl__at_exit(void);
#pragma GCC visibility pop

#endif
