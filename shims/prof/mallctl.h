// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The C API of jemalloc, as far as it is not allocation.
#ifndef HEAPSONDE_SHIMS_PROF_MALLCTL_H
#define HEAPSONDE_SHIMS_PROF_MALLCTL_H

#include <stddef.h>

extern void (*malloc_message)(void *opaque, const char *message);
extern const char *malloc_conf, *malloc_conf_2_conf_harder;

#pragma GCC visibility push(hidden)
// Once, when the options are known: comes to terms with an allocator that profiles itself.
void hs_prof_ctl__start(void);

// At the end of the process: the statistics, when stats_print asks for them.
void hs_prof_ctl__at_exit(void);
#pragma GCC visibility pop

#endif
