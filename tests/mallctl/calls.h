// SPDX-License-Identifier: MIT OR Apache-2.0
//
// jemalloc's C API as programs find it that are not linked with it: by dlsym.
#ifndef HEAPSONDE_TESTS_MALLCTL_CALLS_H
#define HEAPSONDE_TESTS_MALLCTL_CALLS_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

static int (*mallctl)(const char *name, void *old, size_t *old_length, void *new, size_t new_length);
static int (*mallctlnametomib)(const char *name, size_t *mib, size_t *depth);
static int (*mallctlbymib)(const size_t *mib, size_t depth, void *old, size_t *old_length, void *new,
                           size_t new_length);
static void (*malloc_stats_print)(void (*write)(void *opaque, const char *text), void *opaque, const char *letters);

static inline void find_calls(void)
{
    *(void **)&mallctl = dlsym(RTLD_DEFAULT, "mallctl");
    *(void **)&mallctlnametomib = dlsym(RTLD_DEFAULT, "mallctlnametomib");
    *(void **)&mallctlbymib = dlsym(RTLD_DEFAULT, "mallctlbymib");
    *(void **)&malloc_stats_print = dlsym(RTLD_DEFAULT, "malloc_stats_print");
    if (!mallctl || !mallctlnametomib || !mallctlbymib || !malloc_stats_print) {
        fputs("there is no mallctl\n", stderr);
        exit(2);
    }
}

#endif
