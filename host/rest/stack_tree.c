// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/stack_tree.h"

#include <errno.h>
#include <stdlib.h>

struct building {
    const struct hs_node *nodes;
    size_t count;
    struct hs_stack_node *at; // by node of the stack table
};

static uint32_t parent_of(const struct building *building, uint32_t node)
{
    uint32_t parent = building->nodes[node].parent;
    return parent < node ? parent : 0;
}

static void add(struct hs_stack_node *to, const struct hs_stack_node *from)
{
    to->bytes += from->bytes;
    to->count += from->count;
    to->first = from->first < to->first ? from->first : to->first;
    to->last = from->last > to->last ? from->last : to->last;
}

// `children` counts what has been added to a node: those of which nothing was, are not in the tree.
static void add_up(struct building *building, const struct hs_totals *totals)
{
    for (size_t i = 0; i < building->count; i++)
        building->at[i] = (struct hs_stack_node){.node = (uint32_t)i, .first = UINT64_MAX};
    for (size_t i = 0; i < totals->count; i++) {
        const struct hs_total *total = &totals->total[i];
        struct hs_stack_node *node = &building->at[total->stack < building->count ? total->stack : 0];
        node->children++;
        node->self_bytes += total->allocated_bytes;
        node->self_count += total->allocated_count;
        add(node, &(struct hs_stack_node){.bytes = total->allocated_bytes,
                                          .count = total->allocated_count,
                                          .first = total->first_time,
                                          .last = total->last_time});
    }
    for (uint32_t node = (uint32_t)building->count; node-- > 1;) {
        if (!building->at[node].children)
            continue;
        struct hs_stack_node *parent = &building->at[parent_of(building, node)];
        parent->children++;
        add(parent, &building->at[node]);
    }
}

static int compare(const void *left, const void *right, void *context)
{
    const struct building *building = context;
    const struct hs_stack_node *a = left, *b = right;
    uint32_t of_a = parent_of(building, a->node), of_b = parent_of(building, b->node);
    if (of_a != of_b)
        return of_a < of_b ? -1 : 1;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

static int link_nodes(const struct building *building, struct hs_stack_tree *tree)
{
    uint32_t *place = calloc(building->count + 1, sizeof(*place));
    if (!place)
        return -ENOMEM;
    for (size_t i = 0; i < tree->count; i++) {
        place[tree->at[i].node] = (uint32_t)i;
        tree->at[i].children = 0;
    }
    for (size_t i = tree->count; i-- > 1;) {
        struct hs_stack_node *node = &tree->at[i];
        node->parent = place[parent_of(building, node->node)];
        tree->at[node->parent].child = (uint32_t)i;
        tree->at[node->parent].children++;
    }
    free(place);
    return 0;
}

int hs_stack_tree__build(struct hs_stack_tree *tree, const struct hs_store *store, const struct hs_totals *totals)
{
    struct building building = {0};
    *tree = (struct hs_stack_tree){0};
    building.nodes = hs_store__nodes(store, &building.count);
    building.count += !building.count;
    building.at = malloc(building.count * sizeof(*building.at));
    if (!building.at)
        return -ENOMEM;
    add_up(&building, totals);
    for (size_t i = 0; i < building.count; i++)
        if (!i || building.at[i].children)
            building.at[tree->count++] = building.at[i];
    tree->at = building.at;
    qsort_r(tree->at + 1, tree->count - 1, sizeof(*tree->at), compare, &building);
    int result = link_nodes(&building, tree);
    if (result)
        hs_stack_tree__free(tree);
    return result;
}

void hs_stack_tree__free(struct hs_stack_tree *tree)
{
    free(tree->at);
    *tree = (struct hs_stack_tree){0};
}

int hs_stack_tree__walk(const struct hs_stack_tree *tree, hs_stack_visitor enter, hs_stack_visitor leave, void *context)
{
    uint32_t at = tree->at[0].children ? tree->at[0].child : 0;
    unsigned depth = 0;
    int result = at ? enter(context, &tree->at[at], depth, true) : 0;
    while (at && !result) {
        const struct hs_stack_node *node = &tree->at[at];
        if (node->children) {
            at = node->child;
            result = enter(context, &tree->at[at], ++depth, true);
            continue;
        }
        for (;;) {
            const struct hs_stack_node *parent = &tree->at[node->parent];
            result = leave ? leave(context, node, depth, false) : 0;
            if (result || at + 1 < parent->child + parent->children)
                break;
            at = node->parent;
            node = parent;
            if (!at)
                return result;
            depth--;
        }
        if (!result)
            result = enter(context, &tree->at[++at], depth, false);
    }
    return result;
}
