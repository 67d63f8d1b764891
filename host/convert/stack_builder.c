// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/convert/stack_builder.h"

#include "host/base/array.h"

#include <errno.h>

#define LEAST_PC 0x1000u // smaller ones mean something else in a trace

struct hs_built_node {
    uint64_t pc;
    uint32_t parent;
};

struct built_node_key {
    const struct hs_stack_builder *builder;
    uint64_t pc;
    uint32_t parent;
};

static bool is_wanted(const void *key, uint32_t number)
{
    const struct built_node_key *wanted = key;
    const struct hs_built_node *node = &wanted->builder->node[number];
    return node->pc == wanted->pc && node->parent == wanted->parent;
}

int hs_stack_builder__child(struct hs_stack_builder *builder, struct hs_trace_file *file, uint32_t parent, uint64_t pc,
                            uint32_t *node)
{
    if (pc < LEAST_PC)
        pc += LEAST_PC;
    const struct built_node_key wanted = {builder, pc, parent};
    const uint64_t hash = hs_hash__pair(pc, parent);
    *node = hs_hash_index__find(&builder->index, hash, is_wanted, &wanted);
    if (*node != HS_HASH_NONE)
        return 0;
    if (builder->count == UINT32_MAX - 2)
        return -EOVERFLOW;
    if (!HS_ARRAY_HAS_ROOM(builder->node, (size_t)builder->count + 1, builder->room) ||
        hs_hash_index__add(&builder->index, hash, builder->count + 1))
        return -ENOMEM;
    *node = ++builder->count;
    builder->node[*node] = (struct hs_built_node){pc, parent};
    hs_trace_file__node(file, *node, parent, pc);
    return 0;
}

void hs_stack_builder__free(struct hs_stack_builder *builder)
{
    free(builder->node);
    hs_hash_index__free(&builder->index);
    *builder = (struct hs_stack_builder){0};
}
