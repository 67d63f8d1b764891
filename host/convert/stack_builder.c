// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/convert/stack_builder.h"

#include "host/base/array.h"

#include <errno.h>
#include <string.h>

#define LEAST_PC 0x1000u // smaller ones mean something else in a trace

struct hs_built_node {
    uint64_t pc;
    uint32_t parent;
};

static uint32_t *slot_of(const struct hs_stack_builder *builder, uint32_t parent, uint64_t pc)
{
    uint64_t hash = (pc * 0x9e3779b97f4a7c15u ^ parent) * 0xbf58476d1ce4e5b9u;
    size_t i = (size_t)(hash >> 20) & (builder->slots - 1);
    while (builder->slot[i] &&
           (builder->node[builder->slot[i]].pc != pc || builder->node[builder->slot[i]].parent != parent))
        i = (i + 1) & (builder->slots - 1);
    return &builder->slot[i];
}

static int grow_slots(struct hs_stack_builder *builder)
{
    size_t slots = builder->slots ? 2 * builder->slots : 1024;
    uint32_t *slot = calloc(slots, sizeof(*slot));
    if (!slot)
        return -ENOMEM;
    free(builder->slot);
    builder->slot = slot;
    builder->slots = slots;
    for (uint32_t i = 1; i <= builder->count; i++)
        *slot_of(builder, builder->node[i].parent, builder->node[i].pc) = i;
    return 0;
}

int hs_stack_builder__child(struct hs_stack_builder *builder, struct hs_trace_file *file, uint32_t parent, uint64_t pc,
                            uint32_t *node)
{
    if (pc < LEAST_PC)
        pc += LEAST_PC;
    if ((size_t)builder->count * 2 >= builder->slots && grow_slots(builder))
        return -ENOMEM;
    uint32_t *slot = slot_of(builder, parent, pc);
    if (!*slot) {
        if (builder->count == UINT32_MAX - 2)
            return -EOVERFLOW;
        if (!HS_ARRAY_HAS_ROOM(builder->node, (size_t)builder->count + 1, builder->room))
            return -ENOMEM;
        *slot = ++builder->count;
        builder->node[*slot] = (struct hs_built_node){pc, parent};
        hs_trace_file__node(file, *slot, parent, pc);
    }
    *node = *slot;
    return 0;
}

void hs_stack_builder__free(struct hs_stack_builder *builder)
{
    free(builder->node);
    free(builder->slot);
    *builder = (struct hs_stack_builder){0};
}
