// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What one slice of the fleet has in use, or two that are compared, as a tree of functions.
#ifndef HEAPSONDE_HOST_FLEET_SLICE_TREE_H
#define HEAPSONDE_HOST_FLEET_SLICE_TREE_H

#include "host/base/paths.h"
#include "host/fleet/database.h"
#include "host/fleet/questions.h"

enum hs_slice_side { HS_SLICE_NOW, HS_SLICE_BASE, HS_SLICE_SIDES };

struct hs_slice_node {
    const char *function; // ""; the root
    const char *library;  // ""; unknown
    const char *file;     // of the source; "": unknown
    uint32_t line;
    struct hs_value own[HS_SLICE_SIDES], all[HS_SLICE_SIDES];
    struct hs_value own_shown; // of paths.at[].value, what ends here
};

// All zero: empty.
struct hs_slice_tree {
    // When finished, values are what is in use now or, if two slices are compared, how much differs between them in
    // what ends in a node and below, whatever the signs. Children are sorted, the largest first.
    struct hs_paths paths;
    struct hs_slice_node *node; // by number
    size_t left_out;            // nodes that are not linked
    bool inverted;              // the caller's: innermost functions first
    bool compares;
    // private
    size_t room;
    struct hs_strings *strings;
};

// Adds the stacks of a slice to one side. 0, or a negative errno with the reason in `error`.
int hs_slice_tree__add(struct hs_slice_tree *tree, enum hs_slice_side side, struct hs_database *database,
                       const struct hs_fleet_slice *slice, bool per_device, struct hs_error *error);
// To be called once, at the end. At most `most` nodes below the root stay linked, the largest. 0 or -ENOMEM.
int hs_slice_tree__finish(struct hs_slice_tree *tree, size_t most);
void hs_slice_tree__free(struct hs_slice_tree *tree);

#endif
