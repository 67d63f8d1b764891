// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A stack table that is made node by node, in which no two nodes are the same. A node takes 12 bytes, and 5 to 11 more
// to be found again.
#ifndef HEAPSONDE_IMPORT_NODE_TABLE_H
#define HEAPSONDE_IMPORT_NODE_TABLE_H

#include "host/base/array.h"
#include "host/store/layout.h"

struct hs_node_table {
    struct hs_array nodes; // struct hs_node; [0] is the empty stack
    // Private.
    uint32_t *slot; // numbers of nodes by hash; 0: free
    size_t slots;   // a power of two
};

int hs_node_table__create(struct hs_node_table *table); // 0 or -ENOMEM
void hs_node_table__free(struct hs_node_table *table);  // also after a failure, or of zeros

// The number of the node, which is added if it is new. 0: out of memory; the table can then only be freed.
uint32_t hs_node_table__number(struct hs_node_table *table, const struct hs_node *node);

#endif
