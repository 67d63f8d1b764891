// SPDX-License-Identifier: MIT OR Apache-2.0
//
// HEAPSONDE_MODE=aggregate: sums per stack are written every few seconds in place of events. Threads record into their
// slots as usual; the contents of a slot are added up instead of being encoded. At each tick, the filled part of the
// slots in use is read without disturbing their threads.
//
// Called only by the writer.
#ifndef HEAPSONDE_RUNTIME_AGGREGATE_AGGREGATE_H
#define HEAPSONDE_RUNTIME_AGGREGATE_AGGREGATE_H

#include "runtime/config.h"
#include "runtime/slots.h"

#include <stdbool.h>
#include <stdint.h>

// Allocates the sums. Once per process, and again after hs_aggregate__reset().
bool hs_aggregate__prepare(void);

// Adds up the part of `slot` that was not read yet.
void hs_aggregate__take_slot(const struct hs_slot *slot);

// Time until the next tick; 0 when it is due.
int64_t hs_aggregate__due_in_ns(void);

// Writes what has changed since the last tick. `last`: there may be no further tick, so nothing is postponed.
void hs_aggregate__emit(bool last);

void hs_aggregate__reset(void);

#endif
