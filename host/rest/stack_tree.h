// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Totals by stack as the tree of their return addresses: the part of the trace's stack table that they need. It takes
// 48 bytes for each node.
#ifndef HEAPSONDE_HOST_REST_STACK_TREE_H
#define HEAPSONDE_HOST_REST_STACK_TREE_H

#include "host/rest/node_tree.h"
#include "host/rest/stack_totals.h"

struct hs_stack_node {
    uint32_t node; // of the stack table
    struct hs_value passing, own;
    uint64_t first, last; // time of the first and the last allocation; first > last: none is known
};

struct hs_stack_tree {
    struct hs_node_tree nodes; // siblings in the order in which they first allocated
    struct hs_stack_times {
        uint64_t first, last;
    } * times; // by node of `nodes`
};

// Of what was allocated. 0, or -ENOMEM.
int hs_stack_tree__build(struct hs_stack_tree *tree, const struct hs_store *store,
                         const struct hs_stack_totals *stacks);
// Leaves out all but the largest nodes below the root, and says how many those were; what is its own of a node is not
// known any more. 0 or -ENOMEM.
int hs_stack_tree__prune(struct hs_stack_tree *tree, size_t most, size_t *left_out);
void hs_stack_tree__free(struct hs_stack_tree *tree);

struct hs_stack_node hs_stack_tree__root(const struct hs_stack_tree *tree);

// Visits every node but the root, parents first. `leave` (may be NULL) comes when all below a node has been visited.
// Not 0 ends the walk and is returned; -ENOMEM.
typedef int (*hs_stack_visitor)(void *context, const struct hs_stack_node *node, unsigned depth, bool is_first);
int hs_stack_tree__walk(const struct hs_stack_tree *tree, hs_stack_visitor enter, hs_stack_visitor leave,
                        void *context);

#endif
