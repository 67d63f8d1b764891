// SPDX-License-Identifier: MIT OR Apache-2.0
//
// All stacks of a trace as one tree of function names, callers above callees. What the flame graph, the collapsed
// stacks and `report --tree` are made from.
#ifndef HEAPSONDE_HOST_REPORT_CALL_TREE_H
#define HEAPSONDE_HOST_REPORT_CALL_TREE_H

#include "host/base/paths.h"
#include "host/query/query.h"
#include "host/report/cost.h"
#include "host/symbols/trace_symbols.h"

// There may be millions.
struct hs_call_node {
    const struct hs_frame *frame; // of the function, the first that came up; NULL: the root
    bool inlined;                 // everywhere
};

struct hs_call_tree {
    struct hs_paths paths;     // the links and the totals of all nodes; the root has no function
    struct hs_call_node *node; // by number
    size_t room;               // private
    bool by_line;              // private
};

enum hs_tree_order { HS_TREE_BY_BYTES, HS_TREE_BY_BLOCKS, HS_TREE_BY_NAME };

// Callers above: the root's children are the outermost frames.
int hs_call_tree__build(struct hs_call_tree *tree, struct hs_trace_symbols *symbols, const struct hs_totals *totals,
                        enum hs_cost cost, enum hs_tree_order order);
// The other way round: the root's children are the functions that allocated, below them their callers, `depth` levels.
int hs_call_tree__build_inverted(struct hs_call_tree *tree, struct hs_trace_symbols *symbols,
                                 const struct hs_totals *totals, enum hs_cost cost, enum hs_tree_order order,
                                 unsigned depth);
// The largest first, with a node for each line of a function. `depth` 0: callers above, else as build_inverted.
int hs_call_tree__build_lines(struct hs_call_tree *tree, struct hs_trace_symbols *symbols,
                              const struct hs_totals *totals, enum hs_cost cost, unsigned depth);
void hs_call_tree__free(struct hs_call_tree *tree);

#endif
