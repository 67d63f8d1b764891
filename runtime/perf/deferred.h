// SPDX-License-Identifier: MIT OR Apache-2.0
//
// HEAPSONDE_STACKS=deferred: the stacks of samples are not unwound here. Their registers and what is used of the copied
// stack go into the trace, and the host unwinds them with the files that it has.
#ifndef HEAPSONDE_RUNTIME_PERF_DEFERRED_H
#define HEAPSONDE_RUNTIME_PERF_DEFERRED_H

#include "unwind/snapshot.h"

// Writes a snapshot that has a copy. Returns what stands for its stack in the sample's event; 0: there was no room,
// which is counted. One thread at a time.
uint32_t hs_deferred__stack(const struct hs_snapshot *snapshot);

// Tells the trace of the code that is there: what is met in a snapshot later may be gone by then.
void hs_deferred__emit_modules(void);

// Starts anew in a forked child.
void hs_deferred__reset(void);

#endif
