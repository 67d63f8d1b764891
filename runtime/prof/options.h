// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The options in MALLOC_CONF and other sources. Grammar, sources, precedence and messages are those of jemalloc 5.3;
// our own options begin with experimental_hs_. They are written once, before the program's main and before any thread
// but the first samples. Values that can change at run time are in runtime/prof/sampler.h.
#ifndef HEAPSONDE_RUNTIME_PROF_OPTIONS_H
#define HEAPSONDE_RUNTIME_PROF_OPTIONS_H

#include "runtime/prof/option_values.h"

#pragma GCC visibility push(hidden)
// Prints a message; set by the shim.
extern void (*hs_prof_options_message)(const char *message);

// Ends the program after a last message (abort, abort_conf); set by the shim. Does not return.
extern void (*hs_prof_options_abort)(const char *message);

// The program's variables malloc_conf and malloc_conf_2_conf_harder; set by the shim.
extern const char *const *hs_prof_options_program[2];

// Reads all sources into hs_prof_options and prints errors in them. Called once, by hs_sampler__start(). Uses nothing
// of libc but its environ.
void hs_prof_options__begin(void);

// The text of an option of jemalloc that has no effect here ("narenas", ...): the given value, limited to the option's
// range, or jemalloc's default. NULL: unknown option.
const char *hs_prof_options__text(const char *key);

// Like strtoumax() of the C library with base 0: leading blanks, a sign, 0x and 0. All of `text` up to `end` has to be
// one number; a minus sign wraps. False: not a number, or too large. `negative` may be NULL.
bool hs_prof_options__number(const char *text, const char *end, uint64_t *number, bool *negative);
#pragma GCC visibility pop

#endif
