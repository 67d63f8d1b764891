// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The stacks of a subject with each of their frames once: what formats with a table of frames are written from.
#ifndef HEAPSONDE_HOST_EXPORT_STACK_TABLE_H
#define HEAPSONDE_HOST_EXPORT_STACK_TABLE_H

#include "host/base/id_map.h"
#include "host/report/report.h"

struct hs_stack_table {
    struct hs_trace_symbols *symbols;
    const struct hs_frame **frame; // different by function, file, line, module or being inlined
    size_t frame_count;
    size_t node_count; // of the subject
    // private
    uint32_t *list;   // by node: where its list is in `number`, + 1; nodes with the same frames share it
    uint32_t *number; // lists of frames, innermost first, each after its length
    size_t number_count, number_room, frame_room;
    struct hs_id_map list_of; // by address of the frames
    struct hs_id_map known;
    uint32_t *next; // by frame: the next one of the same hash + 1
    uint32_t no_stack;
};

// All stacks of the totals. Returns 0 or -ENOMEM.
int hs_stack_table__build(struct hs_stack_table *table, const struct hs_subject *subject);
void hs_stack_table__free(struct hs_stack_table *table);

// The frames of one node of the stack, innermost first; sets how many.
const uint32_t *hs_stack_table__node(const struct hs_stack_table *table, uint32_t node, uint32_t *count);

// The frames of a stack, innermost first; at most `most` are written. Returns how many there are.
size_t hs_stack_table__stack(const struct hs_stack_table *table, uint32_t stack, uint32_t *to, size_t most);

// The same in memory of the caller's that grows as needed. SIZE_MAX: out of memory.
struct hs_frame_numbers {
    uint32_t *number;
    size_t room;
};
size_t hs_stack_table__whole(const struct hs_stack_table *table, uint32_t stack, struct hs_frame_numbers *to);

#endif
