// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/stack_tree.h"

#include "host/base/array.h"

#include <errno.h>
#include <stdlib.h>

// ---- building -------------------------------------------------------------------------------------------------------

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
    tree->times = malloc(tree->nodes.count * sizeof(*tree->times));
    if (!tree->times)
        return -ENOMEM;
    for (size_t at = 0; at < tree->nodes.count; at++)
        tree->times[at] = (struct hs_stack_times){UINT64_MAX, 0};
    for (size_t i = 0; i < collected->count; i++)
        add_times(tree, hs_node_tree__find(&tree->nodes, collected->value[i].stack), collected->times[i]);
    for (uint32_t at = (uint32_t)tree->nodes.count; at-- > 1;)
        add_times(tree, hs_node_tree__parent(&tree->nodes, at), tree->times[at]);
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

struct children {
    uint32_t *at;
    size_t room;
};

static int sort_children(struct hs_stack_tree *tree, uint32_t parent, struct children *children)
{
    struct hs_node_tree *nodes = &tree->nodes;
    size_t count = 0;
    for (uint32_t child = nodes->child[parent]; child; child = nodes->sibling[child]) {
        if (!HS_ARRAY_HAS_ROOM(children->at, count, children->room))
            return -ENOMEM;
        children->at[count++] = child;
    }
    if (count < 2)
        return 0;
    qsort_r(children->at, count, sizeof(*children->at), compare, tree);
    nodes->child[parent] = children->at[0];
    for (size_t i = 0; i < count; i++)
        nodes->sibling[children->at[i]] = i + 1 < count ? children->at[i + 1] : 0;
    return 0;
}

static int sort_all(struct hs_stack_tree *tree)
{
    struct children children = {0};
    int failed = 0;
    for (uint32_t at = 0; at < tree->nodes.count && !failed; at++)
        failed = sort_children(tree, at, &children);
    free(children.at);
    return failed;
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
        failed = sort_all(tree);
    if (failed)
        hs_stack_tree__free(tree);
    return failed;
}

static int compare_bytes(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a < b) - (a > b);
}

// Parents have lower numbers than their children: of equal nodes those that come first hang together.
static int unlink_small(struct hs_node_tree *nodes, uint64_t least, size_t equal)
{
    uint8_t *kept = calloc(nodes->count, 1);
    if (!kept)
        return -ENOMEM;
    for (size_t at = 1; at < nodes->count; at++) {
        const uint64_t bytes = nodes->passing[at].bytes;
        kept[at] = bytes > least || (bytes == least && equal && equal--);
    }
    for (size_t at = 0; at < nodes->count; at++) {
        uint32_t *link = &nodes->child[at];
        for (uint32_t child = *link, next; child; child = next) {
            next = nodes->sibling[child];
            if (!kept[child])
                continue;
            *link = child;
            link = &nodes->sibling[child];
        }
        *link = 0;
    }
    free(kept);
    return 0;
}

int hs_stack_tree__prune(struct hs_stack_tree *tree, size_t most, size_t *left_out)
{
    struct hs_node_tree *nodes = &tree->nodes;
    const size_t count = nodes->count - 1;
    *left_out = 0;
    if (count <= most)
        return 0;
    uint64_t *bytes = malloc(count * sizeof(*bytes));
    if (!bytes)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        bytes[i] = nodes->passing[i + 1].bytes;
    qsort(bytes, count, sizeof(*bytes), compare_bytes);
    const uint64_t least = bytes[most - 1];
    size_t equal = 0;
    while (equal < most && bytes[most - 1 - equal] == least)
        equal++;
    free(bytes);
    *left_out = count - most;
    return unlink_small(nodes, least, equal);
}

void hs_stack_tree__free(struct hs_stack_tree *tree)
{
    hs_node_tree__free(&tree->nodes);
    free(tree->times);
    *tree = (struct hs_stack_tree){0};
}

// ---- visiting -------------------------------------------------------------------------------------------------------

static struct hs_stack_node node_at(const struct hs_stack_tree *tree, uint32_t at)
{
    return (struct hs_stack_node){.node = tree->nodes.node[at],
                                  .passing = tree->nodes.passing[at],
                                  .own = hs_node_tree__own(&tree->nodes, at),
                                  .first = tree->times[at].first,
                                  .last = tree->times[at].last};
}

struct hs_stack_node hs_stack_tree__root(const struct hs_stack_tree *tree)
{
    return node_at(tree, 0);
}

static int visit(const struct hs_stack_tree *tree, hs_stack_visitor visitor, void *context, uint32_t at, unsigned depth,
                 bool is_first)
{
    const struct hs_stack_node node = node_at(tree, at);
    return visitor(context, &node, depth, is_first);
}

// Leaves a node, and those above it of which this was the last child. Then enters the next sibling; 0: none.
static int leave_up(const struct hs_stack_tree *tree, hs_stack_visitor leave, void *context, uint32_t *at,
                    unsigned *depth)
{
    int result = 0;
    for (;;) {
        result = leave ? visit(tree, leave, context, *at, *depth, false) : 0;
        const uint32_t sibling = tree->nodes.sibling[*at];
        if (result || sibling) {
            *at = sibling;
            return result;
        }
        *at = hs_node_tree__parent(&tree->nodes, *at);
        if (!*at)
            return 0;
        --*depth;
    }
}

int hs_stack_tree__walk(const struct hs_stack_tree *tree, hs_stack_visitor enter, hs_stack_visitor leave, void *context)
{
    uint32_t at = tree->nodes.child[0];
    unsigned depth = 0;
    int result = at ? visit(tree, enter, context, at, depth, true) : 0;
    while (at && !result) {
        const bool deeper = tree->nodes.child[at];
        if (deeper) {
            at = tree->nodes.child[at];
            depth++;
        } else {
            result = leave_up(tree, leave, context, &at, &depth);
        }
        if (at && !result)
            result = visit(tree, enter, context, at, depth, deeper);
    }
    return result;
}
