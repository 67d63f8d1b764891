// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Converts a filled slot to a chunk in the file. Called only by the writer's threads; each has its own sealer.
#ifndef HEAPSONDE_RUNTIME_SEAL_H
#define HEAPSONDE_RUNTIME_SEAL_H

#include "runtime/sealer.h"
#include "runtime/slots.h"

#include <stdbool.h>
#include <stdint.h>

// Allocates what the writer needs. Once per process, and again after hs_sealer__reset_all().
bool hs_seal__prepare(void);

// Encodes and appends the contents of `slot` and frees the slot; when culling, some time later.
void hs_seal__slot(struct hs_sealer *sealer, struct hs_slot *slot);

// Aggregate mode: writes the sums when they are due, or immediately.
void hs_seal__aggregate(bool at_once);

// Writes clock point and state at the end of a trace.
void hs_seal__close(uint64_t state);

// Writes a clock point, and to the header how much memory the process has needed.
void hs_seal__point(void);

// Updates the time in the header, which shows that the program still runs.
void hs_seal__beat(void);

#endif
