// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A tree whose nodes are known by what they are called, in the order in which they came up.
#ifndef HEAPSONDE_HOST_REST_LABEL_TREE_H
#define HEAPSONDE_HOST_REST_LABEL_TREE_H

#include "host/symbols/symbols.h"

struct hs_label_node {
    uint64_t key[2];
    const struct hs_frame *frame;                      // the first that came up; NULL: the root
    uint32_t node;                                     // of the stack table, likewise
    uint32_t parent, first_child, last_child, sibling; // 0: none
    uint64_t bytes, count;                             // of everything that passes here
    uint64_t first, last;
};

struct hs_label_tree {
    struct hs_label_node *at; // [0] is the root
    size_t count;
    // private
    size_t capacity;
    uint32_t *slots;
    size_t slot_count;
};

int hs_label_tree__start(struct hs_label_tree *tree); // 0 or -ENOMEM
void hs_label_tree__free(struct hs_label_tree *tree);

// The child with that key, made when there is none; 0: out of memory.
uint32_t hs_label_tree__child(struct hs_label_tree *tree, uint32_t parent, const uint64_t key[2],
                              const struct hs_frame *frame, uint32_t node);
// What was allocated by one stack.
struct hs_label_value {
    uint64_t bytes, count, first, last;
};
// Adds to one node; not to its parents.
void hs_label_tree__add(struct hs_label_node *to, const struct hs_label_value *value);

// Keeps at most so many nodes besides the root, those with the most bytes, and says how many went. Nothing can be added
// afterwards. 0 or -ENOMEM.
int hs_label_tree__prune(struct hs_label_tree *tree, size_t most, size_t *left_out);

#endif
