// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Stack identity: a trie whose nodes are (parent, return address), interned once per trace.
//
// The table is open addressing over 16-byte entries that hold the whole node, so that a lookup touches one cache line.
// Lookups take no lock and write nothing. New nodes are inserted, and journalled for the trace, under one lock; a table
// that is three quarters full is copied into one half as large again. The old table's pages go back to the kernel but
// stay mapped: a lookup still in it reads zeros, misses and looks again under the lock.
#ifndef HEAPSONDE_RUNTIME_STACKS_H
#define HEAPSONDE_RUNTIME_STACKS_H

#include "unwind/walk.h"

#include <stdbool.h>
#include <stdint.h>

// Gives every fresh frame of memo (ids[kept, depth)) its node id and returns the id of the whole stack: the innermost
// frame's. 0 when the table cannot grow or its lock could not be had; the memo is then emptied.
uint32_t hs_stacks__identify(struct hs_memo *memo, uint32_t kept, uint32_t tid);

// After code was unloaded: nodes in it get new ids when they are met again, so that an id never changes its meaning.
void hs_stacks__forget_unloaded(uint32_t tid);

// Number of nodes in the trace.
uint32_t hs_stacks__count(void);

// Empties the trie, for the new trace of a forked child. Only one thread may exist.
void hs_stacks__reset(void);

#endif
