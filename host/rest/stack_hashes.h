// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A hash of the keys of each stack's frames. Equal stacks of different traces have equal hashes. It takes 8 bytes per
// node of the stack table.
#ifndef HEAPSONDE_HOST_REST_STACK_HASHES_H
#define HEAPSONDE_HOST_REST_STACK_HASHES_H

#include "host/report/frame_key.h"
#include "host/symbols/trace_symbols.h"

struct hs_stack_hashes;

// NULL: out of memory.
struct hs_stack_hashes *hs_stack_hashes__create(struct hs_trace_symbols *symbols, const struct hs_frame_source *source);
void hs_stack_hashes__destroy(struct hs_stack_hashes *hashes);

// Computed at the first call. 0 or -ENOMEM.
int hs_stack_hashes__find(struct hs_stack_hashes *hashes, uint32_t stack, uint64_t *hash);

#endif
