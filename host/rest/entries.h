// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Where stacks enter a function, a library or a file: its outermost frames. If it calls itself, only the first call
// counts, so that what is below it is counted once.
#ifndef HEAPSONDE_HOST_REST_ENTRIES_H
#define HEAPSONDE_HOST_REST_ENTRIES_H

#include "host/rest/function_tree.h"

enum hs_entries_by { HS_ENTRIES_BY_FUNCTION, HS_ENTRIES_BY_LIBRARY, HS_ENTRIES_BY_SOURCE };

struct hs_entries_wanted {
    enum hs_entries_by by;
    const char *name;     // of a library or a file: whole, or what stands behind the last slash
    const char *declared; // of functions of one name, what hs_frame__declared says of the one that is meant; NULL: any
};

// Nodes as numbered in the tree of nodes. The caller frees the array. 0 or -ENOMEM.
int hs_entries__find(const struct hs_frame_table *table, const struct hs_node_tree *nodes,
                     const struct hs_entries_wanted *wanted, struct hs_function_start **entries, size_t *count);

#endif
