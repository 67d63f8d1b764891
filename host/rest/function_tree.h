// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A tree of functions, cut while it is made: level by level, and of what a level leaves out nothing is looked at any
// more. So it takes memory for what is shown and for one level of stacks, not for all paths that there are.
#ifndef HEAPSONDE_HOST_REST_FUNCTION_TREE_H
#define HEAPSONDE_HOST_REST_FUNCTION_TREE_H

#include "host/rest/node_tree.h"
#include "host/symbols/trace_symbols.h"

struct hs_function_node {
    const struct hs_frame *frame; // that of the least stack which passes here; NULL: the root
    struct hs_value all, self;    // of everything that passes here; of what ends here
    uint32_t first_child;         // those that are shown follow each other, the largest first
    uint32_t children;
};

struct hs_function_tree {
    struct hs_function_node *at; // [0] is the root
    size_t count, room;
};

struct hs_function_cut {
    unsigned depth;  // levels
    double least;    // percent of the root's bytes
    size_t children; // of a function
    // Only what is below one node: its number among the children of the node before it, all of them, the largest first.
    // `depth` and `least` are about what is below.
    const uint32_t *path;
    size_t path_length;
};

// Where to begin: a frame of a node of the stack table, and what the stacks that are meant have.
struct hs_function_start {
    uint32_t at;    // outwards: a node of the stack table; inwards: a node of the tree of nodes
    int32_t frame;  // 0 is the innermost; outwards from -1 on, inwards from as many as there are
    uint32_t first; // the least of the stacks
    uint32_t group; // private
    struct hs_value value;
};

struct hs_function_growth {
    struct hs_trace_symbols *symbols;
    const struct hs_node_tree *nodes; // NULL: outwards, from callees to callers; else inwards, along it
    struct hs_function_cut cut;
    const int *cancel; // may be NULL
};

// Grows a tree behind the frames that are given, which are the root's. 0, -ENOMEM, -ECANCELED, or
// -ENOENT when the path leads nowhere. The starts are freed.
int hs_function_tree__grow(struct hs_function_tree *tree, const struct hs_function_growth *growth,
                           struct hs_function_start *starts, size_t count);
// To the next frame outwards; `group` is the place of its node then. At node 0 there is none.
void hs_function_start__move_outwards(struct hs_trace_symbols *symbols, struct hs_function_start *member);
// Leaves out all but the largest nodes. 0 or -ENOMEM.
int hs_function_tree__prune(struct hs_function_tree *tree, size_t most);
void hs_function_tree__free(struct hs_function_tree *tree);

#endif
