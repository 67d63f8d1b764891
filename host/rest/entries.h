// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The entries into a function: frames with its name that have no other such frame further out. For a recursive function
// this is the outermost call, so that its callees are counted once.
#ifndef HEAPSONDE_HOST_REST_ENTRIES_H
#define HEAPSONDE_HOST_REST_ENTRIES_H

#include "host/rest/function_tree.h"

// `declared`: selects one of several functions of this name, by hs_frame__declared; NULL: all of them. Nodes are
// numbered as in the tree of nodes. The caller frees the array. 0 or -ENOMEM.
int hs_entries__find(struct hs_trace_symbols *symbols, const struct hs_node_tree *nodes, const char *function,
                     const char *declared, struct hs_function_start **entries, size_t *count);

#endif
