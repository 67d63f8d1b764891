// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Totals by stack, as the tree of their return addresses: the part of the stack table that they need. It takes 48 bytes
// per node.
#ifndef HEAPSONDE_HOST_REST_STACK_TREE_H
#define HEAPSONDE_HOST_REST_STACK_TREE_H

#include "host/rest/node_tree.h"
#include "host/rest/stack_totals.h"

struct hs_stack_node {
    uint32_t node; // of the stack table
    struct hs_value passing, own;
    uint64_t first, last; // time of the first and the last allocation; first > last: unknown
};

struct hs_stack_tree {
    struct hs_node_tree nodes; // siblings are in the order of their first allocation
    struct hs_stack_times {
        uint64_t first, last;
    } * times; // by node of `nodes`
};

// A tree of allocated bytes. 0 or -ENOMEM.
int hs_stack_tree__build(struct hs_stack_tree *tree, const struct hs_store *store,
                         const struct hs_stack_totals *stacks);
// Removes all but the largest nodes below the root, and returns how many were removed. Values of the nodes themselves
// are no longer known. 0 or -ENOMEM.
int hs_stack_tree__prune(struct hs_stack_tree *tree, size_t most, size_t *left_out);
void hs_stack_tree__free(struct hs_stack_tree *tree);

struct hs_stack_node hs_stack_tree__root(const struct hs_stack_tree *tree);

// Visits all nodes except the root, parents first. `leave` (may be NULL) is called after the descendants of a node. A
// nonzero result ends the walk and is returned; or -ENOMEM.
typedef int (*hs_stack_visitor)(void *context, const struct hs_stack_node *node, unsigned depth, bool is_first);
int hs_stack_tree__walk(const struct hs_stack_tree *tree, hs_stack_visitor enter, hs_stack_visitor leave,
                        void *context);

#endif
