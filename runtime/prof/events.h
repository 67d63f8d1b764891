// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Who wants to know of each sampled block: the log (prof.log_start), the list of recent allocations, the statistics by
// size class, hooks of the program. Called under hs_table_lock; must not allocate from the program's allocator.
#ifndef HEAPSONDE_RUNTIME_PROF_EVENTS_H
#define HEAPSONDE_RUNTIME_PROF_EVENTS_H

#include "runtime/prof/sampler.h"
#include "runtime/prof/samples.h"

#include <stdint.h>

#pragma GCC visibility push(hidden)
// Whether anybody wants them: else the sampler does not call.
extern _Atomic bool hs_events_wanted;
// Whether somebody wants the stack of a free (the log, recent allocations).
extern _Atomic bool hs_events_want_free_stacks;

// `sample` was entered; may set sample->note.
void hs_events__allocated(struct hs_sample *sample, const struct hs_sampler_thread *thread, uint32_t stack);

// `sample` is about to be given up. `stack`: of the free, 0 when unknown.
void hs_events__released(const struct hs_sample *sample, const struct hs_sampler_thread *thread, uint32_t stack);

// prof.reset: samples and pairs are about to be forgotten.
void hs_events__forget(void);
#pragma GCC visibility pop

#endif
