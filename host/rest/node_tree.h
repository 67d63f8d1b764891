// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The part of the stack table that some stacks need, with what they have: nodes are numbered anew, parents before their
// children. It takes 32 bytes for each node.
#ifndef HEAPSONDE_HOST_REST_NODE_TREE_H
#define HEAPSONDE_HOST_REST_NODE_TREE_H

#include "host/store/store.h"

struct hs_value {
    uint64_t bytes, count;
};

struct hs_node_tree {
    size_t count;             // [0] is the empty stack
    uint32_t *node;           // of the stack table
    uint32_t *first;          // the least stack that passes here and has something
    uint32_t *child;          // 0: none
    uint32_t *sibling;        // the next child of the same parent; 0: none
    struct hs_value *passing; // of all stacks that pass here
    // Private: which nodes are in it, and how many before each word.
    const struct hs_node *nodes;
    size_t node_count;
    uint64_t *in;
    uint32_t *before;
};

struct hs_stack_value {
    uint32_t stack;
    struct hs_value value;
};

// Of stacks in the order of their ids. 0 or -ENOMEM.
int hs_node_tree__make(struct hs_node_tree *tree, const struct hs_store *store, const struct hs_stack_value *stacks,
                       size_t count);
void hs_node_tree__free(struct hs_node_tree *tree);

// The number of a node of the stack table that is in it; 0 of one that the store does not have.
uint32_t hs_node_tree__find(const struct hs_node_tree *tree, uint32_t node);
// Of the root: the root.
uint32_t hs_node_tree__parent(const struct hs_node_tree *tree, uint32_t at);
// What ends in a node.
struct hs_value hs_node_tree__own(const struct hs_node_tree *tree, uint32_t at);

#endif
