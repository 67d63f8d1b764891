// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Converts a filled slot to a chunk in the file. Called only by the writer's threads; each has its own sealer.
#ifndef HEAPSONDE_RUNTIME_SEAL_H
#define HEAPSONDE_RUNTIME_SEAL_H

#include "runtime/slots.h"

#include <stdbool.h>
#include <stdint.h>

enum { HS_SEALERS = 2 };

// Working memory for one thread; number 0 is the writer's. NULL: out of memory.
struct hs_sealer *hs_seal__sealer(unsigned number);

// Allocates what the writer needs. Once per process, and again after hs_seal__reset().
bool hs_seal__prepare(void);

// Encodes and appends the contents of `slot` and frees the slot; when culling, some time later.
void hs_seal__slot(struct hs_sealer *sealer, struct hs_slot *slot);

// Aggregate mode: writes the sums when they are due, or immediately.
void hs_seal__aggregate(bool at_once);

// For the writer's own records: appends one META chunk with the records in [data, data + length).
void hs_seal__meta(const void *data, uint32_t length, uint64_t sequence);

// Writes clock point and state at the end of a trace.
void hs_seal__close(uint64_t state);

// Updates the time in the header, which shows that the program still runs.
void hs_seal__beat(void);

void hs_seal__reset(void);

#endif
