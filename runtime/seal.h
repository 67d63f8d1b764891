// SPDX-License-Identifier: MIT OR Apache-2.0
//
// From a filled slot to a chunk in the file. Called by the writer only, one slot at a time.
#ifndef HEAPSONDE_RUNTIME_SEAL_H
#define HEAPSONDE_RUNTIME_SEAL_H

#include "runtime/slots.h"

#include <stdbool.h>
#include <stdint.h>

// Gets the working memory. Once per process and again after hs_seal__reset().
bool hs_seal__prepare(void);

// Encodes and appends what `slot` holds and gives the slot back; when culling, some time later.
void hs_seal__slot(struct hs_slot *slot);

// Writes one META chunk of the records in [data, data + length).
void hs_seal__meta(const void *data, uint32_t length, uint64_t sequence);

// Writes clock point and state at the end of a trace.
void hs_seal__close(uint64_t state);

void hs_seal__reset(void);

#endif
