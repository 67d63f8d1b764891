// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The nodes that trees of functions are made of: those of the trace's stack table, or those that transforms have made
// of them (transforms.h).
#ifndef HEAPSONDE_HOST_REST_FRAME_TABLE_H
#define HEAPSONDE_HOST_REST_FRAME_TABLE_H

#include "host/symbols/trace_symbols.h"

// [0] is the empty stack. Parents come before their children, and each node has one frame.
struct hs_transformed {
    size_t count;
    struct hs_node *node; // without addresses
    struct hs_frames *frames;
    struct hs_stack_value *own; // of the nodes in which stacks with a value end, in the order of nodes
    size_t own_count;
};

struct hs_frame_table {
    struct hs_trace_symbols *symbols;
    const struct hs_transformed *transformed; // NULL: the stacks as they are
};

static inline size_t hs_frame_table__count(const struct hs_frame_table *table)
{
    return table->transformed ? table->transformed->count : table->symbols->node_count;
}

static inline uint32_t hs_frame_table__parent(const struct hs_frame_table *table, uint32_t node)
{
    return table->transformed ? table->transformed->node[node].parent : hs_trace_symbols__parent(table->symbols, node);
}

// Nodes with equal places have equal frames.
static inline uint32_t hs_frame_table__place(const struct hs_frame_table *table, uint32_t node)
{
    return table->transformed ? node : hs_trace_symbols__place(table->symbols, node);
}

static inline const struct hs_frames *hs_frame_table__of_place(const struct hs_frame_table *table, uint32_t place)
{
    return table->transformed ? &table->transformed->frames[place] : hs_trace_symbols__of_place(table->symbols, place);
}

static inline const struct hs_frames *hs_frame_table__node(const struct hs_frame_table *table, uint32_t node)
{
    return hs_frame_table__of_place(table, hs_frame_table__place(table, node));
}

#endif
