// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Totals by stack as the tree of their return addresses: the part of the trace's stack table that they need.
#ifndef HEAPSONDE_HOST_REST_STACK_TREE_H
#define HEAPSONDE_HOST_REST_STACK_TREE_H

#include "host/query/query.h"

struct hs_stack_node {
    uint32_t node;   // of the stack table
    uint32_t parent; // place in the tree
    uint32_t child;  // place of the first child; its others follow, in the order in which they first allocated
    uint32_t children;
    uint64_t bytes, count; // of everything that passes here
    uint64_t self_bytes, self_count;
    uint64_t first, last; // time of the first and the last allocation; first > last: none is known
};

struct hs_stack_tree {
    struct hs_stack_node *at; // [0] is the root
    size_t count;
};

// Of what was allocated. 0, or -ENOMEM.
int hs_stack_tree__build(struct hs_stack_tree *tree, const struct hs_store *store, const struct hs_totals *totals);
void hs_stack_tree__free(struct hs_stack_tree *tree);

// Visits every node but the root, parents first. `leave` (may be NULL) comes when all below a node has been visited.
// Not 0 ends the walk and is returned; -ENOMEM.
typedef int (*hs_stack_visitor)(void *context, const struct hs_stack_node *node, unsigned depth, bool is_first);
int hs_stack_tree__walk(const struct hs_stack_tree *tree, hs_stack_visitor enter, hs_stack_visitor leave,
                        void *context);

#endif
