// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Nodes of a trace that mean the same stack. A recorder whose window of nodes (runtime/stacks.h) has moved gives a
// stack another number when it comes again. A store has it once, and its numbers leave no gaps where nodes were merged.
#ifndef HEAPSONDE_IMPORT_SAME_STACKS_H
#define HEAPSONDE_IMPORT_SAME_STACKS_H

#include "host/base/array.h"
#include "host/import/growing.h"
#include "host/store/store.h"

struct hs_same_stacks {
    struct hs_growing numbers; // uint32_t by node: its number in the store. NULL: no two nodes are the same
    uint32_t count;
    uint64_t merged; // nodes that are not the first
};

// Two nodes are the same if their parents are, and their code: the same address, and as often unloaded before. The
// first of them stays. `nodes` and `epoch_of` are changed to what stays, in the same order: count - same->merged
// elements. `epochs`: times, of which epoch_of[node] is the one when the node was recorded. `modules`: struct
// hs_stored_module, with times of the same kind. Returns 0 or -ENOMEM.
int hs_same_stacks__find(struct hs_same_stacks *same, struct hs_node *nodes, uint32_t count, uint32_t *epoch_of,
                         const uint64_t *epochs, const struct hs_array *modules);
void hs_same_stacks__free(struct hs_same_stacks *same);

static inline uint32_t hs_same_stacks__number(const struct hs_same_stacks *same, uint32_t stack)
{
    const uint32_t *numbers = same->numbers.data;
    return numbers && stack < same->count ? numbers[stack] : stack;
}

#endif
