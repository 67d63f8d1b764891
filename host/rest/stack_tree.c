// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/stack_tree.h"

#include <errno.h>
#include <stdlib.h>

struct stack_tree_collecting {
    struct hs_stack_value *value;
    struct hs_stack_times *times;
    size_t count, room;
};

static int collect(void *context, const struct hs_total *total)
{
    struct stack_tree_collecting *collecting = context;
    if (collecting->count == collecting->room)
        return -ENOMEM; // there are more than were counted: the store's files are being changed
    collecting->value[collecting->count] =
        (struct hs_stack_value){total->stack, {total->allocated_bytes, total->allocated_count}};
    collecting->times[collecting->count++] = (struct hs_stack_times){total->first_time, total->last_time};
    return 0;
}

static void add_times(struct hs_stack_tree *tree, uint32_t at, struct hs_stack_times times)
{
    struct hs_stack_times *to = &tree->times[at];
    to->first = times.first < to->first ? times.first : to->first;
    to->last = times.last > to->last ? times.last : to->last;
}

static int make_times(struct hs_stack_tree *tree, const struct stack_tree_collecting *collected)
{
    tree->times = malloc(tree->nodes.paths.count * sizeof(*tree->times));
    if (!tree->times)
        return -ENOMEM;
    for (size_t at = 0; at < tree->nodes.paths.count; at++)
        tree->times[at] = (struct hs_stack_times){UINT64_MAX, 0};
    for (size_t i = 0; i < collected->count; i++)
        add_times(tree, hs_node_tree__find(&tree->nodes, collected->value[i].stack), collected->times[i]);
    for (uint32_t at = (uint32_t)tree->nodes.paths.count; at-- > 1;)
        add_times(tree, tree->nodes.paths.at[at].parent, tree->times[at]);
    return 0;
}

static int compare(const void *left, const void *right, void *context)
{
    const struct hs_stack_tree *tree = context;
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (tree->times[a].first != tree->times[b].first)
        return tree->times[a].first < tree->times[b].first ? -1 : 1;
    return (a > b) - (a < b);
}

int hs_stack_tree__build(struct hs_stack_tree *tree, const struct hs_store *store, const struct hs_stack_totals *stacks)
{
    struct stack_tree_collecting collected = {.room = hs_stack_totals__count(stacks)};
    *tree = (struct hs_stack_tree){0};
    collected.value = malloc((collected.room + 1) * sizeof(*collected.value));
    collected.times = malloc((collected.room + 1) * sizeof(*collected.times));
    int failed = collected.value && collected.times ? hs_stack_totals__each(stacks, collect, &collected) : -ENOMEM;
    if (!failed)
        failed = hs_node_tree__make(&tree->nodes, store, collected.value, collected.count);
    if (!failed)
        failed = make_times(tree, &collected);
    free(collected.value);
    free(collected.times);
    if (!failed)
        failed = hs_paths__sort(&tree->nodes.paths, compare, tree);
    if (failed)
        hs_stack_tree__free(tree);
    return failed;
}

void hs_stack_tree__free(struct hs_stack_tree *tree)
{
    hs_node_tree__free(&tree->nodes);
    free(tree->times);
    *tree = (struct hs_stack_tree){0};
}
