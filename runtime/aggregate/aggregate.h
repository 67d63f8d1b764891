// SPDX-License-Identifier: MIT OR Apache-2.0
//
// HEAPSONDE_MODE=aggregate: the trace is told sums per stack every few seconds in place of events. Threads record into
// their slots as ever; what a slot holds is added up instead of being encoded. At each tick the slots in use are read
// as far as they are filled, without disturbing their threads.
//
// Called by the writer only, unless said otherwise.
#ifndef HEAPSONDE_RUNTIME_AGGREGATE_AGGREGATE_H
#define HEAPSONDE_RUNTIME_AGGREGATE_AGGREGATE_H

#include "runtime/config.h"
#include "runtime/slots.h"

#include <stdbool.h>
#include <stdint.h>

// Any thread.
static inline bool hs_aggregate__is_on(void)
{
    return hs_config.aggregate;
}

// Gets memory for what is told. Once per process and again after hs_aggregate__reset().
bool hs_aggregate__prepare(void);

// Adds up what `slot` holds and was not read yet.
void hs_aggregate__take_slot(const struct hs_slot *slot);

// Time until the next tick; 0 when it is due.
int64_t hs_aggregate__due_in_ns(void);

// Tells what changed since the last tick. `last`: there may be no further one, so that nothing is put off.
void hs_aggregate__emit(bool last);

void hs_aggregate__reset(void);

#endif
