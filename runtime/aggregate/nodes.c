// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/aggregate/nodes.h"

#include "runtime/memory.h"

#include <stddef.h>

struct nodes_node {
    uintptr_t pc;
    uint32_t parent;
    uint32_t name;
};

enum { SEGMENT_BITS = 17, SEGMENT_NODES = 1 << SEGMENT_BITS, SEGMENTS_LIMIT = 1 << 14, PATH = 256 };
#define SEGMENT_SIZE (sizeof(struct nodes_node) * SEGMENT_NODES)

static struct {
    uint32_t names;
    struct nodes_node *segments[SEGMENTS_LIMIT];
} nodes;

static struct nodes_node *node_of(uint32_t id)
{
    struct nodes_node *segment = nodes.segments[id >> SEGMENT_BITS];
    return segment ? &segment[id & (SEGMENT_NODES - 1)] : NULL;
}

bool hs_nodes__keep(uint32_t id, uint32_t parent, uintptr_t pc)
{
    struct nodes_node **segment = &nodes.segments[id >> SEGMENT_BITS];
    if (!*segment)
        *segment = hs_memory__map(SEGMENT_SIZE);
    if (!*segment)
        return false;
    *node_of(id) = (struct nodes_node){.pc = pc, .parent = parent};
    return true;
}

uintptr_t hs_nodes__pc(uint32_t id)
{
    const struct nodes_node *node = node_of(id);
    return node ? node->pc : 0;
}

static uint32_t name_of(uint32_t id)
{
    const struct nodes_node *node = id ? node_of(id) : NULL;
    return node ? node->name : 0;
}

// The nameless from `id` on outwards, as many as fit, the outermost last.
static uint32_t path_to(uint32_t id, uint32_t *path)
{
    uint32_t length = 0;
    for (; id && node_of(id) && !name_of(id); id = node_of(id)->parent)
        path[length++ % PATH] = id;
    return length;
}

uint32_t hs_nodes__name(uint32_t id, bool (*write)(uint32_t name, uint32_t parent, uintptr_t pc))
{
    uint32_t path[PATH], length;
    while ((length = path_to(id, path)))
        for (uint32_t i = 0; i < PATH && i < length; i++) {
            struct nodes_node *node = node_of(path[(length - 1 - i) % PATH]);
            if (!write(nodes.names + 1, name_of(node->parent), node->pc))
                return 0;
            node->name = ++nodes.names;
        }
    return name_of(id);
}

void hs_nodes__reset(void)
{
    for (uint32_t i = 0; i < SEGMENTS_LIMIT && nodes.segments[i]; i++) {
        hs_memory__unmap(nodes.segments[i], SEGMENT_SIZE);
        nodes.segments[i] = NULL;
    }
    nodes.names = 0;
}
