// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Samples from the kernel (perf_event_open): which stacks burn CPU time, and which make memory resident.
//
// The events hang on the program's threads and are inherited by every thread that these make, so that none is missed,
// whatever makes it and whether it allocates or not. The kernel writes samples into rings, a pair for each processor.
// A thread that the program cannot see opens the events, in a descriptor table of its own: the program has no
// descriptor of them, nothing is passed on by exec, and when the thread is gone so are the events. It takes samples out
// of the rings, unwinds their stacks and records them like any other event, in a stream of its own.
//
// Everything here is optional: where the kernel refuses, the trace says why, and recording goes on without.
#ifndef HEAPSONDE_RUNTIME_PERF_PERF_H
#define HEAPSONDE_RUNTIME_PERF_PERF_H

#include <stdint.h>

// Begins if HEAPSONDE_EVENTS asks for it. The writer's thread runs already.
void hs_perf__start(void);

// Ends for good: the thread must.
void hs_perf__stop(void);

// The number of threads that it has, never more than there are.
uint32_t hs_perf__threads(void);

// What the rings hold is recorded and handed to the writer.
void hs_perf__flush(void);

// Around the unloading of code: what was sampled in it is unwound before, and nothing is unwound meanwhile.
void hs_perf__hold_code(void);
void hs_perf__release_code(void);

// In a forked child, which has neither the thread nor the rings.
void hs_perf__reset(void);

#endif
