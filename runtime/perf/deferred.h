// SPDX-License-Identifier: MIT OR Apache-2.0
//
// HEAPSONDE_STACKS=deferred: the stacks of samples are not unwound here. The trace gets the registers and the used part
// of the copied stack, and the host unwinds them with the files that it finds.
#ifndef HEAPSONDE_RUNTIME_PERF_DEFERRED_H
#define HEAPSONDE_RUNTIME_PERF_DEFERRED_H

#include "unwind/snapshot.h"

// Writes a snapshot that has a copy of the stack. Returns the value for the stack of the sample's event; 0: no room,
// which is counted. One thread at a time.
uint32_t hs_deferred__stack(const struct hs_snapshot *snapshot);

// Records the loaded modules in the trace: code in a snapshot may be unloaded later.
void hs_deferred__emit_modules(void);

// Resets it in a forked child.
void hs_deferred__reset(void);

#endif
