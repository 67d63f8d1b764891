// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/report/call_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char no_stack[] = "[no stack]";

// ---- nodes ---------------------------------------------------------------------------------------------------------

static int start(struct hs_call_tree *tree, bool by_line)
{
    *tree = (struct hs_call_tree){.by_line = by_line};
    if (hs_paths__start(&tree->paths) || !HS_ARRAY_HAS_ROOM(tree->node, 0, tree->room)) {
        hs_call_tree__free(tree);
        return -ENOMEM;
    }
    tree->node[0] = (struct hs_call_node){0};
    return 0;
}

void hs_call_tree__free(struct hs_call_tree *tree)
{
    hs_paths__free(&tree->paths);
    free(tree->node);
    *tree = (struct hs_call_tree){0};
}

struct call_tree_key {
    const struct hs_call_tree *tree;
    const struct hs_frame *frame;
};

static bool is_like(const void *key, uint32_t number)
{
    const struct call_tree_key *wanted = key;
    const struct hs_frame *frame = wanted->tree->node[number].frame;
    return wanted->tree->by_line ? hs_frame__looks_like(frame, wanted->frame)
                                 : hs_frame__identity(frame) == hs_frame__identity(wanted->frame);
}

// The child of `parent` with that function, or that line of it, made when there is none; 0 when memory is exhausted.
static uint32_t child_of(struct hs_call_tree *tree, uint32_t parent, const struct hs_frame *frame)
{
    const struct call_tree_key wanted = {tree, frame};
    const uint64_t hash = (uintptr_t)hs_frame__identity(frame) + (tree->by_line ? frame->line : 0);
    const uint32_t made = (uint32_t)tree->paths.count;
    const uint32_t index = hs_paths__child(&tree->paths, parent, hash, is_like, &wanted);
    if (index && index != made) {
        tree->node[index].inlined &= frame->inlined;
        return index;
    }
    if (!index || !HS_ARRAY_HAS_ROOM(tree->node, made, tree->room))
        return 0;
    tree->node[index] = (struct hs_call_node){.frame = frame, .inlined = frame->inlined};
    return index;
}

// ---- order ---------------------------------------------------------------------------------------------------------

struct call_tree_sorting {
    const struct hs_call_tree *tree;
    enum hs_tree_order order;
};

static int compare_nodes(const void *left, const void *right, void *context)
{
    const struct call_tree_sorting *sorting = context;
    const uint32_t left_node = *(const uint32_t *)left, right_node = *(const uint32_t *)right;
    const struct hs_value *a = &sorting->tree->paths.at[left_node].value;
    const struct hs_value *b = &sorting->tree->paths.at[right_node].value;
    const uint64_t of_a = sorting->order == HS_TREE_BY_BYTES ? a->bytes : a->count;
    const uint64_t of_b = sorting->order == HS_TREE_BY_BYTES ? b->bytes : b->count;
    if (sorting->order != HS_TREE_BY_NAME && of_a != of_b)
        return of_a > of_b ? -1 : 1;
    const struct hs_frame *frame = sorting->tree->node[left_node].frame, *other = sorting->tree->node[right_node].frame;
    const int names = strcmp(frame->function, other->function);
    return names ? names : strcmp(frame->module, other->module);
}

static int finish(struct hs_call_tree *tree, enum hs_tree_order order)
{
    struct call_tree_sorting sorting = {tree, order};
    hs_paths__finish(&tree->paths);
    return hs_paths__sort(&tree->paths, compare_nodes, &sorting);
}

// ---- building ------------------------------------------------------------------------------------------------------

// Marks every stack with a cost and all its callers.
static void mark_used(uint8_t *used, size_t count, const struct hs_trace_symbols *symbols,
                      const struct hs_totals *totals, enum hs_cost cost)
{
    for (size_t i = 0; i < totals->count; i++) {
        const struct hs_total *total = &totals->total[i];
        if (!hs_cost__bytes(total, cost) && !hs_cost__blocks(total, cost))
            continue;
        for (uint32_t node = total->stack; node && node < count && !used[node];) {
            used[node] = 1;
            node = hs_trace_symbols__parent(symbols, node);
        }
    }
}

static uint32_t add_frames(struct hs_call_tree *tree, uint32_t parent, const struct hs_frames *frames)
{
    for (uint32_t i = frames->count; i-- > 0;) {
        parent = child_of(tree, parent, &frames->frame[i]);
        if (!parent)
            return 0;
    }
    return parent;
}

static int place_nodes(struct hs_call_tree *tree, uint32_t *of_node, const uint8_t *used, size_t count,
                       struct hs_trace_symbols *symbols)
{
    // Callers have smaller numbers than what they call.
    for (uint32_t node = 1; node < count; node++) {
        if (!used[node])
            continue;
        uint32_t parent = of_node[hs_trace_symbols__parent(symbols, node)];
        of_node[node] = add_frames(tree, parent, hs_trace_symbols__node(symbols, node));
        if (!of_node[node])
            return -ENOMEM;
    }
    return 0;
}

static int add_costs(struct hs_call_tree *tree, const uint32_t *of_node, size_t count, const struct hs_totals *totals,
                     enum hs_cost cost)
{
    static const struct hs_frame unknown = {.function = no_stack, .module = ""};
    for (size_t i = 0; i < totals->count; i++) {
        const struct hs_total *total = &totals->total[i];
        uint64_t bytes = hs_cost__bytes(total, cost);
        uint64_t blocks = hs_cost__blocks(total, cost);
        if (!bytes && !blocks)
            continue;
        bool known = total->stack && total->stack < count;
        uint32_t index = known ? of_node[total->stack] : child_of(tree, 0, &unknown);
        if (!index)
            return -ENOMEM;
        hs_value__add(&tree->paths.at[index].value, &(struct hs_value){bytes, blocks});
    }
    return 0;
}

// From callers down. The tree has been started.
static int grow_down(struct hs_call_tree *tree, struct hs_trace_symbols *symbols, const struct hs_totals *totals,
                     enum hs_cost cost, enum hs_tree_order order)
{
    const size_t count = symbols->node_count;
    uint8_t *used = calloc(count + 1, sizeof(*used));
    uint32_t *of_node = calloc(count + 1, sizeof(*of_node));
    int result = used && of_node ? 0 : -ENOMEM;
    if (!result) {
        mark_used(used, count, symbols, totals, cost);
        result = place_nodes(tree, of_node, used, count, symbols);
    }
    if (!result)
        result = add_costs(tree, of_node, count, totals, cost);
    if (!result)
        result = finish(tree, order);
    free(used);
    free(of_node);
    if (result)
        hs_call_tree__free(tree);
    return result;
}

int hs_call_tree__build(struct hs_call_tree *tree, struct hs_trace_symbols *symbols, const struct hs_totals *totals,
                        enum hs_cost cost, enum hs_tree_order order)
{
    const int result = start(tree, false);
    return result ? result : grow_down(tree, symbols, totals, cost, order);
}

static int add_inverted(struct hs_call_tree *tree, struct hs_trace_symbols *symbols, const struct hs_total *total,
                        enum hs_cost cost, unsigned depth)
{
    uint32_t at = 0;
    unsigned level = 0;
    uint32_t node = total->stack;
    do {
        const struct hs_frames *frames = hs_trace_symbols__node(symbols, node);
        for (uint32_t i = 0; i < frames->count && level < depth; i++, level++) {
            at = child_of(tree, at, &frames->frame[i]);
            if (!at)
                return -ENOMEM;
        }
        node = hs_trace_symbols__parent(symbols, node);
    } while (node && level < depth);
    hs_value__add(&tree->paths.at[at].value,
                  &(struct hs_value){hs_cost__bytes(total, cost), hs_cost__blocks(total, cost)});
    return 0;
}

static int grow_up(struct hs_call_tree *tree, struct hs_trace_symbols *symbols, const struct hs_totals *totals,
                   enum hs_cost cost, enum hs_tree_order order, unsigned depth)
{
    int result = 0;
    for (size_t i = 0; !result && i < totals->count; i++) {
        const struct hs_total *total = &totals->total[i];
        if (hs_cost__bytes(total, cost) || hs_cost__blocks(total, cost))
            result = add_inverted(tree, symbols, total, cost, depth);
    }
    if (!result)
        result = finish(tree, order);
    if (result)
        hs_call_tree__free(tree);
    return result;
}

int hs_call_tree__build_inverted(struct hs_call_tree *tree, struct hs_trace_symbols *symbols,
                                 const struct hs_totals *totals, enum hs_cost cost, enum hs_tree_order order,
                                 unsigned depth)
{
    const int result = start(tree, false);
    return result ? result : grow_up(tree, symbols, totals, cost, order, depth);
}

int hs_call_tree__build_lines(struct hs_call_tree *tree, struct hs_trace_symbols *symbols,
                              const struct hs_totals *totals, enum hs_cost cost, unsigned depth)
{
    const int result = start(tree, true);
    if (result)
        return result;
    return depth ? grow_up(tree, symbols, totals, cost, HS_TREE_BY_BYTES, depth)
                 : grow_down(tree, symbols, totals, cost, HS_TREE_BY_BYTES);
}
