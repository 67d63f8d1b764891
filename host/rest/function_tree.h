// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A tree of functions. It is made level by level, and each level is pruned before the next one is made. So it needs
// memory for the visible part and for one level of stacks, not for all paths.
#ifndef HEAPSONDE_HOST_REST_FUNCTION_TREE_H
#define HEAPSONDE_HOST_REST_FUNCTION_TREE_H

#include "host/rest/frame_table.h"
#include "host/rest/node_tree.h"

struct hs_function_node {
    const struct hs_frame *frame; // of the least stack that passes through the node; NULL: the root
    struct hs_value all, self;    // of everything that passes through the node; of what ends here
    uint32_t first_child;         // the visible children are consecutive, the largest first
    uint32_t children;
};

struct hs_function_tree {
    struct hs_function_node *at; // [0] is the root
    size_t count, room;
};

struct hs_function_cut {
    unsigned depth;  // levels
    double least;    // percent of the bytes of the root
    size_t children; // limit per function
    // Only the part below one node. Each number is the index of a node among all children of the node before it, the
    // largest first. `depth` and `least` then apply to that part.
    const uint32_t *path;
    size_t path_length;
};

// Where to begin: a frame of a node of the stack table, and the stacks that pass through it.
struct hs_function_start {
    uint32_t at;    // outwards: a node of the stack table; inwards: a node of the tree of nodes
    int32_t frame;  // 0 is the innermost; outwards it starts at -1, inwards at the number of frames
    uint32_t first; // the least of the stacks
    uint32_t group; // private
    struct hs_value value;
};

struct hs_function_growth {
    struct hs_frame_table table;
    const struct hs_node_tree *nodes; // NULL: outwards, from callees to callers; else inwards
    struct hs_function_cut cut;
    const int *cancel; // may be NULL
};

// Makes a tree whose root consists of the given frames. Frees the starts. 0, -ENOMEM, -ECANCELED, or -ENOENT if there
// is no node at the path.
int hs_function_tree__grow(struct hs_function_tree *tree, const struct hs_function_growth *growth,
                           struct hs_function_start *starts, size_t count);
// To the next frame outwards; `group` is the place of its node then. At node 0 there is none.
void hs_function_start__move_outwards(const struct hs_frame_table *table, struct hs_function_start *member);
// Leaves out all but the largest nodes. 0 or -ENOMEM.
int hs_function_tree__prune(struct hs_function_tree *tree, size_t most);
void hs_function_tree__free(struct hs_function_tree *tree);

#endif
