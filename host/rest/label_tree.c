// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/label_tree.h"

#include "host/base/array.h"
#include "host/base/hash_index.h"

#include <errno.h>
#include <stdlib.h>

int hs_label_tree__start(struct hs_label_tree *tree)
{
    *tree = (struct hs_label_tree){0};
    if (!HS_ARRAY_HAS_ROOM(tree->at, tree->count, tree->capacity))
        return -ENOMEM;
    tree->at[tree->count++] = (struct hs_label_node){.first = UINT64_MAX};
    return 0;
}

void hs_label_tree__free(struct hs_label_tree *tree)
{
    free(tree->at);
    hs_hash_index__free(&tree->index);
    *tree = (struct hs_label_tree){0};
}

struct label_tree_key {
    const struct hs_label_tree *tree;
    uint32_t parent;
    const uint64_t *key;
};

static bool is_wanted(const void *key, uint32_t number)
{
    const struct label_tree_key *wanted = key;
    const struct hs_label_node *node = &wanted->tree->at[number];
    return node->parent == wanted->parent && node->key[0] == wanted->key[0] && node->key[1] == wanted->key[1];
}

uint32_t hs_label_tree__child(struct hs_label_tree *tree, uint32_t parent, const uint64_t key[2],
                              const struct hs_frame *frame, uint32_t node)
{
    const struct label_tree_key wanted = {tree, parent, key};
    const uint64_t hash = hs_hash__pair(hs_hash__pair(key[0], key[1]), parent);
    const uint32_t found = hs_hash_index__find(&tree->index, hash, is_wanted, &wanted);
    if (found != HS_HASH_NONE)
        return found;
    uint32_t index = (uint32_t)tree->count;
    if (index == HS_HASH_NONE || !HS_ARRAY_HAS_ROOM(tree->at, tree->count, tree->capacity) ||
        hs_hash_index__add(&tree->index, hash, index))
        return 0;
    tree->count++;
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
