// SPDX-License-Identifier: MIT OR Apache-2.0
//
// (parent, pc) -> id for the children of nodes that have many of them.
//
// Open addressing over entries of 16 bytes (12 with pointers of 32 bits), so that a lookup touches one cache line.
// Lookups take no lock; insertions run under the stack table's lock. A table that is three quarters full is copied into
// one half as large again; the old one's pages go back to the kernel but stay mapped: a lookup still in it reads zeros,
// misses, and is repeated under the lock.
#ifndef HEAPSONDE_RUNTIME_WIDE_NODES_H
#define HEAPSONDE_RUNTIME_WIDE_NODES_H

#include "runtime/modules.h"

#include <stdint.h>

// Up to this many children are searched as a list without the hash.
#define HS_WIDE_LIST 8

uint32_t hs_wide_nodes__find(uint32_t parent, uintptr_t pc);

// Returns `id`; 0: the table cannot grow.
uint32_t hs_wide_nodes__insert(uint32_t parent, uintptr_t pc, uint32_t id);

// Makes the entries for return addresses in this code (in the order of addresses) impossible to find.
void hs_wide_nodes__forget(const struct hs_code_range *code, uint32_t count);

void hs_wide_nodes__reset(void);

#endif
