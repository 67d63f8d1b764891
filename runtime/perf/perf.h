// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Samples of the kernel (perf_event_open): which stacks use CPU time, and which make memory resident.
//
// The events are attached to the program's threads and inherited by all threads that these create, so that none is
// missed, whether it allocates or not. The kernel writes samples into rings, one pair per processor. A hidden thread
// opens the events in a descriptor table of its own: the program has no descriptors of them, exec passes nothing on,
// and the events end with the thread. The thread reads samples from the rings, unwinds their stacks and records them
// like other events, in a stream of its own.
//
// All of this is optional: if the kernel refuses, the trace contains the reason, and recording continues without
// samples.
#ifndef HEAPSONDE_RUNTIME_PERF_PERF_H
#define HEAPSONDE_RUNTIME_PERF_PERF_H

#include <stdint.h>

// Starts if HEAPSONDE_EVENTS requests it. The writer's thread must already run.
void hs_perf__start(void);

// Ends permanently, because the thread has to end.
void hs_perf__stop(void);

// The number of its threads, or a lower number.
uint32_t hs_perf__threads(void);

// Records what is in the rings, and passes it to the writer.
void hs_perf__flush(void);

// Before and after code is unloaded: samples in it are unwound before, and no stack is unwound in between.
void hs_perf__hold_code(void);
void hs_perf__release_code(void);

// In a forked child, which has neither the thread nor the rings.
void hs_perf__reset(void);

#endif
