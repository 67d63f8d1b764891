// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Leaving short-lived allocations out of the trace, by option, with their statistics kept per stack.
//
// Filled slots are held back until they are as old as the threshold, or until there are too many. Before the first of
// them is written, the events of all held slots are processed in the order of time. An allocation is removed together
// with its free, which may be of any thread, unless a slot that is not held yet may contain an event at the same
// address in between. A chain of reallocs is removed as a whole if it is younger than the threshold, counted from its
// first allocation; otherwise it is kept as a whole. Held slots stay in the mapped file, so that a kill loses nothing.
//
// Memory is bounded by HEAPSONDE_MEMORY: half of it for the blocks (live_blocks.h), a quarter for the statistics, which
// are written at regular intervals. Beyond that, blocks stay in the trace.
//
// Called by the writer only.
#ifndef HEAPSONDE_RUNTIME_CULL_H
#define HEAPSONDE_RUNTIME_CULL_H

#include "runtime/slots.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Whether slots go through here at all.
bool hs_cull__is_on(void);

// Takes a filled slot of events. False when there is no memory to hold it.
bool hs_cull__hold(struct hs_slot *slot);

// The oldest held slot if it is due (with `all`: in any case), with the remaining records in `records`, which are
// HS_SLOT_RECORDS_SIZE bytes of the caller's. NULL if none is due. The slot is the caller's again.
struct hs_slot *hs_cull__release(bool all, uint64_t *records);

// Number of slots held.
uint32_t hs_cull__held(void);

// Hands the statistics since the last call to `visit`, one stack at a time.
void hs_cull__report(void (*visit)(uint32_t stack, uint64_t count, uint64_t size, uint64_t usable, uint64_t lifetime));

void hs_cull__reset(void);

#endif
