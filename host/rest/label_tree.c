// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/label_tree.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_NODES 1024u

int hs_label_tree__start(struct hs_label_tree *tree)
{
    *tree = (struct hs_label_tree){.capacity = FIRST_NODES, .slot_count = 2 * FIRST_NODES, .count = 1};
    tree->at = calloc(tree->capacity, sizeof(*tree->at));
    tree->slots = calloc(tree->slot_count, sizeof(*tree->slots));
    if (tree->at && tree->slots) {
        tree->at[0].first = UINT64_MAX;
        return 0;
    }
    hs_label_tree__free(tree);
    return -ENOMEM;
}

void hs_label_tree__free(struct hs_label_tree *tree)
{
    free(tree->at);
    free(tree->slots);
    *tree = (struct hs_label_tree){0};
}

static uint32_t *slot_of(const struct hs_label_tree *tree, uint32_t parent, const uint64_t key[2])
{
    uint64_t hash = (key[0] ^ (key[1] << 20) ^ ((uint64_t)parent << 40) ^ parent) * 0x9e3779b97f4a7c15u;
    for (size_t i = (hash >> 32) & (tree->slot_count - 1);; i = (i + 1) & (tree->slot_count - 1)) {
        const struct hs_label_node *node = &tree->at[tree->slots[i]];
        if (!tree->slots[i] || (node->parent == parent && node->key[0] == key[0] && node->key[1] == key[1]))
            return &tree->slots[i];
    }
}

static bool grow(struct hs_label_tree *tree)
{
    size_t capacity = tree->capacity * 2;
    if (capacity > UINT32_MAX)
        return false;
    struct hs_label_node *nodes = reallocarray(tree->at, capacity, sizeof(*nodes));
    if (!nodes)
        return false;
    tree->at = nodes;
    uint32_t *slots = calloc(2 * capacity, sizeof(*slots));
    if (!slots)
        return false;
    free(tree->slots);
    tree->slots = slots;
    tree->slot_count = 2 * capacity;
    tree->capacity = capacity;
    for (uint32_t i = 1; i < tree->count; i++)
        *slot_of(tree, tree->at[i].parent, tree->at[i].key) = i;
    return true;
}

uint32_t hs_label_tree__child(struct hs_label_tree *tree, uint32_t parent, const uint64_t key[2],
                              const struct hs_frame *frame, uint32_t node)
{
    uint32_t *slot = slot_of(tree, parent, key);
    if (*slot)
        return *slot;
    if (tree->count == tree->capacity) {
        if (!grow(tree))
            return 0;
        slot = slot_of(tree, parent, key);
    }
    uint32_t index = (uint32_t)tree->count++;
    *slot = index;
    tree->at[index] = (struct hs_label_node){
        .key = {key[0], key[1]}, .frame = frame, .node = node, .parent = parent, .first = UINT64_MAX};
    struct hs_label_node *above = &tree->at[parent];
    if (above->last_child)
        tree->at[above->last_child].sibling = index;
    else
        above->first_child = index;
    above->last_child = index;
    return index;
}

void hs_label_tree__add(struct hs_label_node *to, const struct hs_label_value *value)
{
    to->bytes += value->bytes;
    to->count += value->count;
    to->first = value->first < to->first ? value->first : to->first;
    to->last = value->last > to->last ? value->last : to->last;
}

static int compare_sizes(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a < b) - (a > b);
}

// Links a node's children anew without those that are smaller.
static void keep_children(struct hs_label_tree *tree, struct hs_label_node *node, uint64_t least)
{
    uint32_t last = 0, child = node->first_child;
    node->first_child = node->last_child = 0;
    for (uint32_t next; child; child = next) {
        next = tree->at[child].sibling;
        tree->at[child].sibling = 0;
        if (tree->at[child].bytes < least)
            continue;
        if (last)
            tree->at[last].sibling = child;
        else
            node->first_child = child;
        node->last_child = last = child;
    }
}

// A node has at least the bytes of its children, so that what is kept hangs together. Nodes of equal size stay or go
// together.
int hs_label_tree__prune(struct hs_label_tree *tree, size_t most, size_t *left_out)
{
    *left_out = 0;
    if (tree->count - 1 <= most)
        return 0;
    uint64_t *bytes = malloc((tree->count - 1) * sizeof(*bytes));
    if (!bytes)
        return -ENOMEM;
    for (size_t i = 1; i < tree->count; i++)
        bytes[i - 1] = tree->at[i].bytes;
    qsort(bytes, tree->count - 1, sizeof(*bytes), compare_sizes);
    const uint64_t least = bytes[most] + 1;
    free(bytes);
    for (size_t i = 1; i < tree->count; i++)
        *left_out += tree->at[i].bytes < least;
    for (size_t i = 0; i < tree->count; i++)
        keep_children(tree, &tree->at[i], least);
    return 0;
}
