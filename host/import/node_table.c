// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/import/node_table.h"

#include "host/base/hash_index.h"

#include <errno.h>

enum { FIRST_SLOTS = 1024, STEPS_MOST = 256 };

// Where the node is or can be put. NULL: too far from its place, as in a trace that was made for hashes to collide.
static uint32_t *find(const struct hs_node_table *table, const struct hs_node *node)
{
    const struct hs_node *nodes = table->nodes.data;
    const size_t mask = table->slots - 1;
    size_t at = (size_t)(hs_hash__pair(node->pc, node->parent) >> 32) & mask;
    for (unsigned steps = 0; steps < STEPS_MOST; steps++, at = (at + 1) & mask) {
        const struct hs_node *other = &nodes[table->slot[at]];
        if (!table->slot[at] || (other->pc == node->pc && other->parent == node->parent))
            return &table->slot[at];
    }
    return NULL;
}

// The nodes say where they belong, so the smaller table is not needed meanwhile.
static int make_slots(struct hs_node_table *table, size_t slots)
{
    const struct hs_node *nodes = table->nodes.data;
    free(table->slot);
    table->slot = calloc(slots, sizeof(*table->slot));
    table->slots = slots;
    for (size_t i = 1; i < table->nodes.count && table->slot; i++) {
        uint32_t *slot = find(table, &nodes[i]);
        if (slot)
            *slot = (uint32_t)i;
    }
    return table->slot ? 0 : -ENOMEM;
}

uint32_t hs_node_table__number(struct hs_node_table *table, const struct hs_node *node)
{
    if (4 * (uint64_t)table->nodes.count >= 3 * (uint64_t)table->slots && make_slots(table, 2 * table->slots))
        return 0;
    uint32_t *slot = find(table, node);
    if (slot && *slot)
        return *slot;
    const uint32_t number = (uint32_t)table->nodes.count;
    struct hs_node *added = hs_array__add(&table->nodes, sizeof(*added));
    if (!added)
        return 0;
    *added = *node;
    if (slot)
        *slot = number;
    return number;
}

int hs_node_table__create(struct hs_node_table *table)
{
    *table = (struct hs_node_table){0};
    return hs_array__reach(&table->nodes, 0, sizeof(struct hs_node)) ? make_slots(table, FIRST_SLOTS) : -ENOMEM;
}

void hs_node_table__free(struct hs_node_table *table)
{
    free(table->slot);
    free(table->nodes.data);
}
