// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The sums of each stack, and those that are already in the trace (aggregate.h). One thread.
//
// The trace contains the sums of stacks that matter: all stacks while there are few; later those with a large enough
// share of the live bytes, allocated bytes or allocations. The others are added up as stack 0. When a stack begins or
// ceases to matter, its part is moved out of stack 0, or back.
//
// With the live blocks (blocks.h) this takes at most AGGREGATE_MEMORY. At that bound, stacks without live blocks are
// moved into stack 0 for good, and a new stack counts as stack 0.
#ifndef HEAPSONDE_RUNTIME_AGGREGATE_STACK_AGGREGATES_H
#define HEAPSONDE_RUNTIME_AGGREGATE_STACK_AGGREGATES_H

#include "format/aggregate.h"

enum { HS_AGGREGATE_DOMAINS = 2 };

// Adds one block: to the count `first`, and to the bytes and the slack that follow it. Stack 0: only to the sums of
// stack 0.
void hs_stack_aggregates__add(unsigned domain, uint32_t stack, enum hs_sum first, size_t size, uint32_t slack);

// The number of stacks of the domain that are part of stack 0. A stack that was removed and came again counts twice.
uint64_t hs_stack_aggregates__folded(unsigned domain);

// Chooses the stacks to write: `name` returns the stack's number in the trace, or 0 if it cannot get one now.
void hs_stack_aggregates__choose(unsigned domain, uint32_t (*name)(uint32_t stack));

// Passes on the changes since the last call, and marks them as written.
void hs_stack_aggregates__emit(unsigned domain, void (*put)(const struct hs_aggregate_record *record));

void hs_stack_aggregates__reset(void);

#endif
