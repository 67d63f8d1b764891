// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Stack identity: a trie whose nodes are (parent, return address). A node gets the next number and is journalled for
// the trace when it is made. A number never changes its meaning, so it stays valid wherever it is remembered.
//
// The table is a window: a ring of the newest nodes and a hash of others that were used of late, whose memory is
// bounded. A new node takes the place of an old one. If the old one occurs again, it gets another number, and is
// journalled again; whoever reads the trace takes equal nodes for one. At the last number (2^31 - 2), and if the
// journal refuses a node, the stack of the event is lost.
//
// Lookups take no lock and write only a mark that the node is in use. New nodes are inserted under one lock. A node
// takes 16 bytes, or 12 with pointers of 32 bits; one whose parent has the number before takes the size of a pointer.
// The window begins with the least size. It is doubled, up to the most, when a new node finds no free place near its
// own, or the numbers have gone round.
#ifndef HEAPSONDE_RUNTIME_STACKS_H
#define HEAPSONDE_RUNTIME_STACKS_H

#include "unwind/walk.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Bytes of the window: the least, and what it may be without hs_stacks__set_window().
#define HS_STACKS_WINDOW_LEAST (sizeof(void *) == 8 ? 8u << 10 : 5u << 10)
#define HS_STACKS_WINDOW       (sizeof(void *) == 8 ? 1u << 20 : 320u << 10)

// The most bytes that the window may take (cut to the size of a power of two of nodes, and at least the least).
// SIZE_MAX: nodes leave it only if there is no memory. Call it before the first stack.
void hs_stacks__set_window(size_t bytes);

// Assigns node ids to all fresh frames of the memo (ids[kept, depth)). Returns the id of the whole stack, which is that
// of the innermost frame. 0: the table cannot grow, or its lock was not acquired; the memo is then emptied.
uint32_t hs_stacks__identify(struct hs_memo *memo, uint32_t kept, uint32_t tid);

// After code was unloaded: nodes in it get new ids when they occur again, so that an id never changes its meaning.
// Returns whether there were any.
bool hs_stacks__forget_unloaded(uint32_t tid);

// Before code is unloaded: journals the modules whose search was put off.
void hs_stacks__name_code(uint32_t tid);

// Submits the journal of nodes to the writer.
void hs_stacks__flush(uint32_t tid);

// The table's lock, for code that writes nodes to the trace (aggregate/nodes.h). A thread that holds it may wait for
// the writer.
bool hs_stacks__lock(uint32_t tid);
bool hs_stacks__try_lock(uint32_t tid);
void hs_stacks__unlock(void);

// A range of addresses that stand for instructions of an interpreter (python_code.h): they are in no module. Set once,
// before the first stack with one of them.
struct hs_made_range {
    uintptr_t start, size;
};
extern struct hs_made_range hs_stacks__made;

// The number that was given last.
uint32_t hs_stacks__count(void);

// Around fork, if the child keeps the trie: makes sure that no other thread is in the middle of a change. Returns
// whether the lock was taken, which the parent releases then.
bool hs_stacks__before_fork(uint32_t tid);
void hs_stacks__after_fork(bool in_child, bool taken);

// Empties the trie, for the new trace of a forked child. Only one thread may exist.
void hs_stacks__reset(void);

#endif
