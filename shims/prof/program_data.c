// SPDX-License-Identifier: MIT OR Apache-2.0
//
// jemalloc's variables. They are weak, exported and of pointer size, so that a program's own definition, or its copy of
// them, takes their place.
#include "runtime/prof/options.h"
#include "shims/common/real.h"
#include "shims/prof/mallctl.h"

HS_EXPORT void (*malloc_message)(void *opaque, const char *message) __attribute__((weak));
HS_EXPORT const char *malloc_conf __attribute__((weak));
HS_EXPORT const char *malloc_conf_2_conf_harder __attribute__((weak));

const char *const *hs_prof_options_program[2] = {(const char *const *)&malloc_conf,
                                                 (const char *const *)&malloc_conf_2_conf_harder};
