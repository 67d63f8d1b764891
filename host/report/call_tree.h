// SPDX-License-Identifier: MIT OR Apache-2.0
//
// All stacks of a trace as one tree of function names, callers above callees. What the flame graph, the collapsed
// stacks and `report --tree` are made from.
#ifndef HEAPSONDE_HOST_REPORT_CALL_TREE_H
#define HEAPSONDE_HOST_REPORT_CALL_TREE_H

#include "host/query/query.h"
#include "host/report/cost.h"
#include "host/symbols/trace_symbols.h"

// There may be millions.
struct hs_tree_node {
    const struct hs_frame *frame; // of the function, the first that came up; NULL: the root
    uint32_t parent;
    uint32_t child; // the first child: its place in `order`
    uint32_t place; // of this node in `order`
    uint32_t children : 31;
    uint32_t inlined : 1;   // everywhere
    uint64_t bytes, blocks; // of all stacks that pass here
};

// Totals of stacks that end in a node.
struct hs_tree_self {
    uint64_t bytes, blocks;
};

struct hs_call_tree {
    struct hs_tree_node *node; // [0] is the root: no function, everything passes it
    size_t count;
    uint32_t *order; // nodes with the children of each node side by side
    // private
    size_t capacity;
    uint32_t *slots;
    size_t slot_count;
};

enum hs_tree_order { HS_TREE_BY_BYTES, HS_TREE_BY_BLOCKS, HS_TREE_BY_NAME };

// Callers above: the root's children are the outermost frames.
int hs_call_tree__build(struct hs_call_tree *tree, struct hs_trace_symbols *symbols, const struct hs_totals *totals,
                        enum hs_cost cost, enum hs_tree_order order);
// The other way round: the root's children are the functions that allocated, below them their callers, `depth` levels.
int hs_call_tree__build_inverted(struct hs_call_tree *tree, struct hs_trace_symbols *symbols,
                                 const struct hs_totals *totals, enum hs_cost cost, enum hs_tree_order order,
                                 unsigned depth);
void hs_call_tree__free(struct hs_call_tree *tree);
struct hs_tree_self hs_call_tree__self(const struct hs_call_tree *tree, uint32_t node);

// Visits every node but the root, parents first, siblings in order. `visit` returns whether to go on below the node.
typedef bool (*hs_tree_visitor)(void *context, const struct hs_call_tree *tree, uint32_t node, unsigned depth);
void hs_call_tree__walk(const struct hs_call_tree *tree, hs_tree_visitor visit, void *context);

#endif
