// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Stacks as a tree of nodes: equal frames with equal callers are one, and are written when they are first met.
#ifndef HEAPSONDE_HOST_CONVERT_STACK_BUILDER_H
#define HEAPSONDE_HOST_CONVERT_STACK_BUILDER_H

#include "host/base/hash_index.h"
#include "host/convert/trace_file.h"

struct hs_stack_builder {
    struct hs_built_node *node; // [0] is unused
    size_t room;
    struct hs_hash_index index; // nodes by their parent and address
    uint32_t count;             // of nodes; the newest has this number
};

// The node of a frame below `parent` (0: the outermost one). Returns 0 or a negative errno.
int hs_stack_builder__child(struct hs_stack_builder *builder, struct hs_trace_file *file, uint32_t parent, uint64_t pc,
                            uint32_t *node);
void hs_stack_builder__free(struct hs_stack_builder *builder);

#endif
