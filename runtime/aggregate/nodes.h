// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The nodes of the stack table as the trace may have to be told of them, where it is told only of stacks that matter
// (stack_sums.h): a stack gets its number in the trace, its name, when it is told. Names count up from 1, parents
// before their children.
//
// All under the stack table's lock.
#ifndef HEAPSONDE_RUNTIME_AGGREGATE_NODES_H
#define HEAPSONDE_RUNTIME_AGGREGATE_NODES_H

#include <stdbool.h>
#include <stdint.h>

// False: no memory.
bool hs_nodes__keep(uint32_t id, uint32_t parent, uintptr_t pc);

// The name of the node; it and its ancestors are written before, as far as they have none. 0: `write` refused.
uint32_t hs_nodes__name(uint32_t id, bool (*write)(uint32_t name, uint32_t parent, uintptr_t pc));

void hs_nodes__reset(void);

#endif
