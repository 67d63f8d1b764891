// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A copy of the part of the stack table that contains the given stacks, with their values. Nodes get new numbers;
// parents come before their children. It takes 36 bytes per node.
#ifndef HEAPSONDE_HOST_REST_NODE_TREE_H
#define HEAPSONDE_HOST_REST_NODE_TREE_H

#include "host/base/paths.h"
#include "host/store/store.h"

struct hs_node_tree {
    struct hs_paths paths; // finished; the root is the empty stack, `place` is the node of the stack table
    uint32_t *first;       // by node: the least stack that passes through it and has a value
    // Private: a set of the contained nodes, and the number of nodes before each word of it.
    const struct hs_node *nodes;
    size_t node_count;
    uint64_t *in;
    uint32_t *before;
};

struct hs_stack_value {
    uint32_t stack;
    struct hs_value value;
};

// `stacks` is sorted by id. 0 or -ENOMEM.
int hs_node_tree__make(struct hs_node_tree *tree, const struct hs_store *store, const struct hs_stack_value *stacks,
                       size_t count);
// The same for a table that is not a store's. It must outlive the tree.
int hs_node_tree__make_of(struct hs_node_tree *tree, const struct hs_node *nodes, size_t node_count,
                          const struct hs_stack_value *stacks, size_t count);
void hs_node_tree__free(struct hs_node_tree *tree);

// The new number of a contained node of the stack table; 0 for a node that the store does not have.
uint32_t hs_node_tree__find(const struct hs_node_tree *tree, uint32_t node);

#endif
