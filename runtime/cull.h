// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Leaving short-lived allocations out of the trace, by option, with their statistics kept per stack.
//
// Filled slots are held back until they are as old as the threshold, or until too much is held. Before the first of
// them goes, all that are held are gone through in the order of time: an allocation whose free is there, of whichever
// thread, is struck out together with the free, unless a slot that is not held yet may say something of its address in
// between. A chain of reallocs goes as a whole, when it is younger than the threshold from its first allocation on, or
// stays as a whole. Held slots stay in the mapped file, so that a kill loses nothing.
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

// The oldest held slot, when it is due (`all`: whichever it is), with what is left of its records: `records` is
// HS_SLOT_RECORDS_SIZE bytes of the caller's. NULL when none is due. The slot is the caller's again.
struct hs_slot *hs_cull__release(bool all, uint64_t *records);

// Number of slots held.
uint32_t hs_cull__held(void);

// Hands the statistics since the last call to `visit`, one stack at a time.
void hs_cull__report(void (*visit)(uint32_t stack, uint64_t count, uint64_t size, uint64_t usable, uint64_t lifetime));

void hs_cull__reset(void);

#endif
