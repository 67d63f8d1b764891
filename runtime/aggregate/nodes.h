// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Numbers of nodes in an aggregate trace, which contains only stacks that matter (stack_aggregates.h). A node gets its
// number in the trace, its name, when it is first written. Names count up from 1, parents before their children.
//
// All functions require the stack table's lock.
#ifndef HEAPSONDE_RUNTIME_AGGREGATE_NODES_H
#define HEAPSONDE_RUNTIME_AGGREGATE_NODES_H

#include <stdbool.h>
#include <stdint.h>

// False: out of memory.
bool hs_nodes__keep(uint32_t id, uint32_t parent, uintptr_t pc);

// The return address of the node; 0: none was kept for this id.
uintptr_t hs_nodes__pc(uint32_t id);

// The name of the node. Nodes without a name are written first, ancestors before descendants. 0: `write` refused.
uint32_t hs_nodes__name(uint32_t id, bool (*write)(uint32_t name, uint32_t parent, uintptr_t pc));

void hs_nodes__reset(void);

#endif
