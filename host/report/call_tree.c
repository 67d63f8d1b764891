// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/report/call_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_NODES 1024u
#define MOST_NODES  ((size_t)INT32_MAX)

static const char no_stack[] = "[no stack]";

// ---- nodes ---------------------------------------------------------------------------------------------------------

static int start(struct hs_call_tree *tree)
{
    *tree = (struct hs_call_tree){.capacity = FIRST_NODES, .slot_count = 2 * FIRST_NODES, .count = 1};
    tree->node = calloc(tree->capacity, sizeof(*tree->node));
    tree->slots = calloc(tree->slot_count, sizeof(*tree->slots));
    if (tree->node && tree->slots)
        return 0;
    hs_call_tree__free(tree);
    return -ENOMEM;
}

void hs_call_tree__free(struct hs_call_tree *tree)
{
    free(tree->node);
    free(tree->slots);
    free(tree->order);
    *tree = (struct hs_call_tree){0};
}

static size_t slot_of(const struct hs_call_tree *tree, uint32_t parent, const char *identity)
{
    uint64_t hash = ((uint64_t)(uintptr_t)identity ^ ((uint64_t)parent << 40) ^ parent) * 0x9e3779b97f4a7c15u;
    size_t i = (hash >> 32) & (tree->slot_count - 1);
    while (tree->slots[i]) {
        const struct hs_tree_node *node = &tree->node[tree->slots[i]];
        if (node->parent == parent && hs_frame__identity(node->frame) == identity)
            break;
        i = (i + 1) & (tree->slot_count - 1);
    }
    return i;
}

static int grow(struct hs_call_tree *tree)
{
    size_t capacity = tree->capacity * 2;
    struct hs_tree_node *nodes = reallocarray(tree->node, capacity, sizeof(*nodes));
    if (!nodes)
        return -ENOMEM;
    tree->node = nodes;
    uint32_t *slots = calloc(2 * capacity, sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    free(tree->slots);
    tree->slots = slots;
    tree->slot_count = 2 * capacity;
    tree->capacity = capacity;
    for (uint32_t i = 1; i < tree->count; i++)
        tree->slots[slot_of(tree, tree->node[i].parent, hs_frame__identity(tree->node[i].frame))] = i;
    return 0;
}

// The child of `parent` with that function, made when there is none; 0 when memory is exhausted.
static uint32_t child_of(struct hs_call_tree *tree, uint32_t parent, const struct hs_frame *frame)
{
    size_t slot = slot_of(tree, parent, hs_frame__identity(frame));
    if (tree->slots[slot]) {
        struct hs_tree_node *known = &tree->node[tree->slots[slot]];
        known->inlined = known->inlined && frame->inlined;
        return tree->slots[slot];
    }
    if (tree->count == tree->capacity || tree->count == MOST_NODES) {
        if (tree->count == MOST_NODES || grow(tree))
            return 0;
        slot = slot_of(tree, parent, hs_frame__identity(frame));
    }
    uint32_t index = (uint32_t)tree->count++;
    tree->slots[slot] = index;
    tree->node[index] = (struct hs_tree_node){.frame = frame, .parent = parent, .inlined = frame->inlined};
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
    const struct hs_tree_node *a = &sorting->tree->node[*(const uint32_t *)left];
    const struct hs_tree_node *b = &sorting->tree->node[*(const uint32_t *)right];
    uint64_t of_a = sorting->order == HS_TREE_BY_BYTES ? a->bytes : a->blocks;
    uint64_t of_b = sorting->order == HS_TREE_BY_BYTES ? b->bytes : b->blocks;
    if (sorting->order != HS_TREE_BY_NAME && of_a != of_b)
        return of_a > of_b ? -1 : 1;
    int names = strcmp(a->frame->function, b->frame->function);
    return names ? names : strcmp(a->frame->module, b->frame->module);
}

// Children of one parent side by side, in the order in which they were made.
static void list_children(struct hs_call_tree *tree)
{
    uint32_t place = 0;
    for (uint32_t i = 1; i < tree->count; i++)
        tree->node[tree->node[i].parent].children++;
    for (uint32_t i = 0; i < tree->count; i++) {
        tree->node[i].child = place;
        place += tree->node[i].children;
        tree->node[i].children = 0;
    }
    for (uint32_t i = 1; i < tree->count; i++) {
        struct hs_tree_node *parent = &tree->node[tree->node[i].parent];
        tree->order[parent->child + parent->children++] = i;
    }
}

static int order_children(struct hs_call_tree *tree, enum hs_tree_order order)
{
    struct call_tree_sorting sorting = {tree, order};
    tree->order = malloc(tree->count * sizeof(*tree->order));
    if (!tree->order)
        return -ENOMEM;
    list_children(tree);
    for (uint32_t i = 0; i < tree->count; i++) {
        const struct hs_tree_node *parent = &tree->node[i];
        if (parent->children > 1)
            qsort_r(tree->order + parent->child, parent->children, sizeof(*tree->order), compare_nodes, &sorting);
    }
    for (uint32_t place = 0; place + 1 < tree->count; place++)
        tree->node[tree->order[place]].place = place;
    return 0;
}

static int finish(struct hs_call_tree *tree, enum hs_tree_order order)
{
    // A node is made after its parent, so one pass from the end carries all sums up.
    for (size_t i = tree->count; i-- > 1;) {
        const struct hs_tree_node *node = &tree->node[i];
        tree->node[node->parent].bytes += node->bytes;
        tree->node[node->parent].blocks += node->blocks;
    }
    return order_children(tree, order);
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
        tree->node[index].bytes += bytes;
        tree->node[index].blocks += blocks;
    }
    return 0;
}

int hs_call_tree__build(struct hs_call_tree *tree, struct hs_trace_symbols *symbols, const struct hs_totals *totals,
                        enum hs_cost cost, enum hs_tree_order order)
{
    const size_t count = symbols->node_count;
    int result = start(tree);
    if (result)
        return result;
    uint8_t *used = calloc(count + 1, sizeof(*used));
    uint32_t *of_node = calloc(count + 1, sizeof(*of_node));
    result = used && of_node ? 0 : -ENOMEM;
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
    tree->node[at].bytes += hs_cost__bytes(total, cost);
    tree->node[at].blocks += hs_cost__blocks(total, cost);
    return 0;
}

int hs_call_tree__build_inverted(struct hs_call_tree *tree, struct hs_trace_symbols *symbols,
                                 const struct hs_totals *totals, enum hs_cost cost, enum hs_tree_order order,
                                 unsigned depth)
{
    int result = start(tree);
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

struct hs_tree_self hs_call_tree__self(const struct hs_call_tree *tree, uint32_t index)
{
    const struct hs_tree_node *node = &tree->node[index];
    struct hs_tree_self self = {node->bytes, node->blocks};
    for (uint32_t i = 0; i < node->children; i++) {
        const struct hs_tree_node *child = &tree->node[tree->order[node->child + i]];
        self.bytes -= child->bytes;
        self.blocks -= child->blocks;
    }
    return self;
}

// ---- walking -------------------------------------------------------------------------------------------------------

static uint32_t next_sibling(const struct hs_call_tree *tree, uint32_t index)
{
    const struct hs_tree_node *node = &tree->node[index];
    const struct hs_tree_node *parent = &tree->node[node->parent];
    return node->place + 1 < parent->child + parent->children ? tree->order[node->place + 1] : 0;
}

// Without recursion: a trace may hold stacks of any depth.
void hs_call_tree__walk(const struct hs_call_tree *tree, hs_tree_visitor visit, void *context)
{
    unsigned depth = 0;
    uint32_t at = tree->node[0].children ? tree->order[tree->node[0].child] : 0;
    while (at) {
        const struct hs_tree_node *node = &tree->node[at];
        bool down = visit(context, tree, at, depth);
        if (down && node->children) {
            at = tree->order[node->child];
            depth++;
            continue;
        }
        uint32_t next = next_sibling(tree, at);
        while (!next && tree->node[at].parent) {
            at = tree->node[at].parent;
            depth--;
            next = next_sibling(tree, at);
        }
        at = next;
    }
}
