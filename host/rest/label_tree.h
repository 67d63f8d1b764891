// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A tree whose nodes are identified by labels, in the order in which they were added.
#ifndef HEAPSONDE_HOST_REST_LABEL_TREE_H
#define HEAPSONDE_HOST_REST_LABEL_TREE_H

#include "host/base/hash_index.h"
#include "host/symbols/symbols.h"

struct hs_label_node {
    uint64_t key[2];
    const struct hs_frame *frame;                      // the first one that was added; NULL: the root
    uint32_t node;                                     // of the stack table, the first one that was added
    uint32_t parent, first_child, last_child, sibling; // 0: none
    uint64_t bytes, count;                             // of everything that passes through the node
    uint64_t first, last;
};

struct hs_label_tree {
    struct hs_label_node *at; // [0] is the root
    size_t count;
    // private
    size_t capacity;
    struct hs_hash_index index; // nodes by parent and key
};

int hs_label_tree__start(struct hs_label_tree *tree); // 0 or -ENOMEM
void hs_label_tree__free(struct hs_label_tree *tree);

// The child with this key; it is created if it does not exist. 0: out of memory.
uint32_t hs_label_tree__child(struct hs_label_tree *tree, uint32_t parent, const uint64_t key[2],
                              const struct hs_frame *frame, uint32_t node);
// Adds the allocations of one stack.
struct hs_label_value {
    uint64_t bytes, count, first, last;
};
// Adds to one node, but not to its parents.
void hs_label_tree__add(struct hs_label_node *to, const struct hs_label_value *value);

// Keeps at most this many nodes besides the root, those with the most bytes, and returns how many were removed. Nothing
// can be added afterwards. 0 or -ENOMEM.
int hs_label_tree__prune(struct hs_label_tree *tree, size_t most, size_t *left_out);

#endif
