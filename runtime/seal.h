// SPDX-License-Identifier: MIT OR Apache-2.0
//
// From a filled slot to a chunk in the file. Called by the writer's threads only; each has a sealer of its own.
#ifndef HEAPSONDE_RUNTIME_SEAL_H
#define HEAPSONDE_RUNTIME_SEAL_H

#include "runtime/slots.h"

#include <stdbool.h>
#include <stdint.h>

enum { HS_SEALERS = 2 };

// Working memory for one thread; number 0 is the writer's. NULL: out of memory.
struct hs_sealer *hs_seal__sealer(unsigned number);

// Gets what the writer needs. Once per process and again after hs_seal__reset().
bool hs_seal__prepare(void);

// Encodes and appends the contents of `slot` and frees the slot; when culling, some time later.
void hs_seal__slot(struct hs_sealer *sealer, struct hs_slot *slot);

// Aggregate mode: writes the sums when they are due, or immediately.
void hs_seal__aggregate(bool at_once);

// The writer's own: one META chunk of the records in [data, data + length).
void hs_seal__meta(const void *data, uint32_t length, uint64_t sequence);

// Writes clock point and state at the end of a trace.
void hs_seal__close(uint64_t state);

// Notes in the header that the program is still there.
void hs_seal__beat(void);

void hs_seal__reset(void);

#endif
