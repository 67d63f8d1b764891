// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Totals by stack, as the tree of their return addresses: the part of the stack table that they need. It takes 52 bytes
// per node.
#ifndef HEAPSONDE_HOST_REST_STACK_TREE_H
#define HEAPSONDE_HOST_REST_STACK_TREE_H

#include "host/rest/node_tree.h"
#include "host/rest/stack_totals.h"

struct hs_stack_tree {
    struct hs_node_tree nodes; // siblings are in the order of their first allocation
    struct hs_stack_times {
        uint64_t first, last; // of allocations; first > last: unknown
    } * times;                // by node
};

// A tree of allocated bytes. 0 or -ENOMEM.
int hs_stack_tree__build(struct hs_stack_tree *tree, const struct hs_store *store,
                         const struct hs_stack_totals *stacks);
void hs_stack_tree__free(struct hs_stack_tree *tree);

#endif
