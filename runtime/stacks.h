// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Stack identity: a trie whose nodes are (parent, return address), interned once per trace.
//
// Lookups take no lock and, while more than one thread records, write nothing (a lone thread moves nodes that it meets
// often to the front of their list). New nodes are inserted, and journalled for the trace, under one lock. A node
// takes 16 bytes (32 where its parent has many children).
#ifndef HEAPSONDE_RUNTIME_STACKS_H
#define HEAPSONDE_RUNTIME_STACKS_H

#include "unwind/walk.h"

#include <stdbool.h>
#include <stdint.h>

// A thread's most recent nodes, by depth. Frames that a stack pops and pushes again are found here, in cache lines that
// stay in the first-level cache. Owned by one thread.
enum { HS_NODE_CACHE_DEPTHS = 256, HS_NODE_CACHE_WAYS = 4 };

struct hs_node_cache {
    uint32_t generation;
    uint32_t alone_as;   // the caller's tid while it is the only thread, else 0; set by the caller
    uint32_t late_finds; // nodes found behind others of their parent
    struct {
        uint64_t pc;
        uint32_t parent;
        uint32_t id;
    } entries[HS_NODE_CACHE_DEPTHS][HS_NODE_CACHE_WAYS] __attribute__((aligned(64)));
};

// Assigns node ids to all fresh frames of the memo (ids[kept, depth)). Returns the id of the whole stack, which is that
// of the innermost frame. 0: the table cannot grow, or its lock was not acquired; the memo is then emptied.
uint32_t hs_stacks__identify(struct hs_memo *memo, uint32_t kept, struct hs_node_cache *cache, uint32_t tid);

// After code was unloaded: nodes in it get new ids when they occur again, so that an id never changes its meaning.
// Returns whether there were any.
bool hs_stacks__forget_unloaded(uint32_t tid);

// Submits the journal of nodes to the writer.
void hs_stacks__flush(uint32_t tid);

// The table's lock, for code that writes nodes to the trace (aggregate/nodes.h). A thread that holds it may wait for
// the writer.
bool hs_stacks__lock(uint32_t tid);
bool hs_stacks__try_lock(uint32_t tid);
void hs_stacks__unlock(void);

// Number of nodes.
uint32_t hs_stacks__count(void);

// Around fork, if the child keeps the trie: makes sure that no other thread is in the middle of a change.
void hs_stacks__before_fork(uint32_t tid);
void hs_stacks__after_fork(bool in_child);

// Empties the trie, for the new trace of a forked child. Only one thread may exist.
void hs_stacks__reset(void);

#endif
