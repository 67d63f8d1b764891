// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Shared by sampler.c and sampler_threads.c.
#ifndef HEAPSONDE_RUNTIME_PROF_SAMPLER_INTERNAL_H
#define HEAPSONDE_RUNTIME_PROF_SAMPLER_INTERNAL_H

#include "runtime/prof/sampler.h"

#pragma GCC visibility push(hidden)
// Allocates what the thread needs to walk its stack. False: out of memory.
bool hs_sampler__remember_stacks(struct hs_sampler_thread *thread);

// Adds to what all threads have reported. Under the table's lock.
void hs_sampler__count_older(uint64_t bytes);

// In a forked child: all other threads have ended.
void hs_sampler__keep_only_self(void);
#pragma GCC visibility pop

#endif
