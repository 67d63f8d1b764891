// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The sums of each stack, and what the trace was told of them (aggregate.h). One thread.
//
// A trace is told the sums of stacks that matter: all while there are few, then those with a share of what is live, of
// the bytes or of the number of allocations that is large enough. The rest is told together, as stack 0. A stack may
// come to matter, or cease to; what the trace has of it then moves out of stack 0 or back.
#ifndef HEAPSONDE_RUNTIME_AGGREGATE_STACK_AGGREGATES_H
#define HEAPSONDE_RUNTIME_AGGREGATE_STACK_AGGREGATES_H

#include "format/aggregate.h"

enum { HS_AGGREGATE_DOMAINS = 2 };

// Adds one block: to the count `first`, and to the bytes and the slack behind it. Stack 0: only to what is told as
// such.
void hs_stack_aggregates__add(unsigned domain, uint32_t stack, enum hs_sum first, size_t size, uint32_t slack);

// How many stacks of the domain are part of stack 0; one that was forgotten and came again counts twice.
uint64_t hs_stack_aggregates__folded(unsigned domain);

// Chooses what is told: `name` gives the stack's number in the trace, or 0 when it cannot be named now.
void hs_stack_aggregates__choose(unsigned domain, uint32_t (*name)(uint32_t stack));

// Hands over what changed since it was told last, and takes it as told.
void hs_stack_aggregates__emit(unsigned domain, void (*put)(const struct hs_aggregate_record *record));

size_t hs_stack_aggregates__memory(void);
void hs_stack_aggregates__reset(void);

#endif
