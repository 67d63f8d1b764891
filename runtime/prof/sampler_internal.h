// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What sampler.c and sampler_threads.c need of each other.
#ifndef HEAPSONDE_RUNTIME_PROF_SAMPLER_INTERNAL_H
#define HEAPSONDE_RUNTIME_PROF_SAMPLER_INTERNAL_H

#include "runtime/prof/sampler.h"

#pragma GCC visibility push(hidden)
// Gives the thread what it needs to walk its stack. False without memory.
bool hs_sampler__remember_stacks(struct hs_sampler_thread *thread);

// In a forked child: every other thread has ended.
void hs_sampler__keep_only_self(void);
#pragma GCC visibility pop

#endif
