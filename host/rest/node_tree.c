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
        tree->before[word] = (uint32_t)tree->count;
        tree->count += (unsigned)__builtin_popcountll(tree->in[word]);
    }
    return 0;
}

static void number_nodes(struct hs_node_tree *tree)
{
    uint32_t at = 0;
    for (size_t word = 0; word < tree->node_count / 64 + 1; word++)
        for (uint64_t bits = tree->in[word]; bits; bits &= bits - 1) {
            tree->first[at] = UINT32_MAX;
            tree->node[at++] = (uint32_t)(word * 64) + (uint32_t)__builtin_ctzll(bits);
        }
}

static void add(struct hs_node_tree *tree, uint32_t at, struct hs_value value, uint32_t first)
{
    tree->passing[at].bytes += value.bytes;
    tree->passing[at].count += value.count;
    tree->first[at] = first < tree->first[at] ? first : tree->first[at];
}

static void add_up(struct hs_node_tree *tree, const struct hs_stack_value *stacks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        add(tree, number_of(tree, clamp(tree, stacks[i].stack)), stacks[i].value, stacks[i].stack);
    for (uint32_t at = (uint32_t)tree->count; at-- > 1;) {
        const uint32_t parent = number_of(tree, parent_of(tree, tree->node[at]));
        tree->sibling[at] = tree->child[parent];
        tree->child[parent] = at;
        add(tree, parent, tree->passing[at], tree->first[at]);
    }
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
    if (failed) {
        hs_node_tree__free(tree);
        return failed;
    }
    tree->node = malloc(tree->count * sizeof(*tree->node));
    tree->first = malloc(tree->count * sizeof(*tree->first));
    tree->child = calloc(tree->count, sizeof(*tree->child));
    tree->sibling = calloc(tree->count, sizeof(*tree->sibling));
    tree->passing = calloc(tree->count, sizeof(*tree->passing));
    if (!tree->node || !tree->first || !tree->child || !tree->sibling || !tree->passing) {
        hs_node_tree__free(tree);
        return -ENOMEM;
    }
    number_nodes(tree);
    add_up(tree, stacks, count);
    return 0;
}

void hs_node_tree__free(struct hs_node_tree *tree)
{
    free(tree->node);
    free(tree->first);
    free(tree->child);
    free(tree->sibling);
    free(tree->passing);
    free(tree->in);
    free(tree->before);
    *tree = (struct hs_node_tree){0};
}

uint32_t hs_node_tree__find(const struct hs_node_tree *tree, uint32_t node)
{
    return number_of(tree, clamp(tree, node));
}

uint32_t hs_node_tree__parent(const struct hs_node_tree *tree, uint32_t at)
{
    return at ? number_of(tree, parent_of(tree, tree->node[at])) : 0;
}

struct hs_value hs_node_tree__own(const struct hs_node_tree *tree, uint32_t at)
{
    struct hs_value own = tree->passing[at];
    for (uint32_t child = tree->child[at]; child; child = tree->sibling[child]) {
        own.bytes -= tree->passing[child].bytes;
        own.count -= tree->passing[child].count;
    }
    return own;
}
