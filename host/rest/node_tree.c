// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/node_tree.h"

#include <errno.h>
#include <stdlib.h>

static uint32_t parent_of(const struct hs_node_tree *tree, uint32_t node)
{
    const uint32_t parent = tree->nodes[node].parent;
    return parent < node ? parent : 0;
}

static bool has(const struct hs_node_tree *tree, uint32_t node)
{
    return tree->in[node / 64] >> (node % 64) & 1;
}

static void add_node(struct hs_node_tree *tree, uint32_t node)
{
    tree->in[node / 64] |= (uint64_t)1 << (node % 64);
}

// Stacks that are not in the table count as the empty stack.
static uint32_t clamp(const struct hs_node_tree *tree, uint32_t stack)
{
    return stack < tree->node_count ? stack : 0;
}

static uint32_t number_of(const struct hs_node_tree *tree, uint32_t node)
{
    const uint64_t below = tree->in[node / 64] & (((uint64_t)1 << (node % 64)) - 1);
    return tree->before[node / 64] + (uint32_t)__builtin_popcountll(below);
}

static int mark_nodes(struct hs_node_tree *tree, const struct hs_stack_value *stacks, size_t count)
{
    const size_t words = tree->node_count / 64 + 1;
    tree->in = calloc(words, sizeof(*tree->in));
    tree->before = malloc(words * sizeof(*tree->before));
    if (!tree->in || !tree->before)
        return -ENOMEM;
    add_node(tree, 0);
    for (size_t i = 0; i < count; i++)
        for (uint32_t node = clamp(tree, stacks[i].stack); !has(tree, node); node = parent_of(tree, node))
            add_node(tree, node);
    for (size_t word = 0; word < words; word++) {
        tree->before[word] = (uint32_t)tree->paths.count;
        tree->paths.count += (unsigned)__builtin_popcountll(tree->in[word]);
    }
    return 0;
}

static void number_nodes(struct hs_node_tree *tree)
{
    uint32_t at = 0;
    for (size_t word = 0; word < tree->node_count / 64 + 1; word++)
        for (uint64_t bits = tree->in[word]; bits; bits &= bits - 1) {
            const uint32_t node = (uint32_t)(word * 64) + (uint32_t)__builtin_ctzll(bits);
            tree->first[at] = UINT32_MAX;
            tree->paths.at[at++] =
                (struct hs_path_node){.parent = number_of(tree, parent_of(tree, node)), .place = node};
        }
}

static void add_first(struct hs_node_tree *tree, uint32_t at, uint32_t first)
{
    tree->first[at] = first < tree->first[at] ? first : tree->first[at];
}

static void add_up(struct hs_node_tree *tree, const struct hs_stack_value *stacks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint32_t at = number_of(tree, clamp(tree, stacks[i].stack));
        hs_value__add(&tree->paths.at[at].value, &stacks[i].value);
        add_first(tree, at, stacks[i].stack);
    }
    for (uint32_t at = (uint32_t)tree->paths.count; at-- > 1;)
        add_first(tree, tree->paths.at[at].parent, tree->first[at]);
    hs_paths__finish(&tree->paths);
}

int hs_node_tree__make(struct hs_node_tree *tree, const struct hs_store *store, const struct hs_stack_value *stacks,
                       size_t count)
{
    size_t node_count;
    const struct hs_node *nodes = hs_store__nodes(store, &node_count);
    return hs_node_tree__make_of(tree, nodes, node_count, stacks, count);
}

int hs_node_tree__make_of(struct hs_node_tree *tree, const struct hs_node *nodes, size_t node_count,
                          const struct hs_stack_value *stacks, size_t count)
{
    *tree = (struct hs_node_tree){.nodes = nodes, .node_count = node_count};
    int failed = mark_nodes(tree, stacks, count);
    if (!failed) {
        tree->paths.at = malloc(tree->paths.count * sizeof(*tree->paths.at));
        tree->first = malloc(tree->paths.count * sizeof(*tree->first));
        failed = tree->paths.at && tree->first ? 0 : -ENOMEM;
    }
    if (failed) {
        hs_node_tree__free(tree);
        return failed;
    }
    number_nodes(tree);
    add_up(tree, stacks, count);
    return 0;
}

void hs_node_tree__free(struct hs_node_tree *tree)
{
    hs_paths__free(&tree->paths);
    free(tree->first);
    free(tree->in);
    free(tree->before);
    *tree = (struct hs_node_tree){0};
}

uint32_t hs_node_tree__find(const struct hs_node_tree *tree, uint32_t node)
{
    return number_of(tree, clamp(tree, node));
}
