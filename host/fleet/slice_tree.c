// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/fleet/slice_tree.h"

#include "host/base/numbers.h"
#include "host/fleet/slice_stacks.h"
#include "host/symbols/strings.h"

#include <errno.h>
#include <string.h>

struct slice_adding {
    struct hs_slice_tree *tree;
    enum hs_slice_side side;
};

static int start(struct hs_slice_tree *tree)
{
    if (tree->strings)
        return 0;
    tree->strings = hs_strings__create();
    if (!tree->strings || hs_paths__start(&tree->paths) || !HS_ARRAY_HAS_ROOM(tree->node, 0, tree->room))
        return -ENOMEM;
    tree->node[0] = (struct hs_slice_node){.function = "", .library = "", .file = ""};
    return 0;
}

// Of two nodes that are the same, the strings are the same pointers.
struct slice_key {
    const struct hs_slice_node *node;
    const char *function, *library;
};

static bool is_node(const void *key, uint32_t number)
{
    const struct slice_key *wanted = key;
    return wanted->node[number].function == wanted->function && wanted->node[number].library == wanted->library;
}

// 0: out of memory.
static uint32_t child_of(struct hs_slice_tree *tree, uint32_t parent, const struct hs_fleet_frame *frame)
{
    char text[HS_SLICE_NAME];
    const uint32_t made = (uint32_t)tree->paths.count;
    const char *function = hs_strings__add(tree->strings, hs_slice_frame__name(frame, text));
    const char *library = hs_strings__add(tree->strings, frame->module);
    if (!function || !library || !HS_ARRAY_HAS_ROOM(tree->node, made, tree->room))
        return 0;
    const struct slice_key wanted = {tree->node, function, library};
    const uint32_t child =
        hs_paths__child(&tree->paths, parent, hs_hash__pair((uintptr_t)function, (uintptr_t)library), is_node, &wanted);
    if (child != made)
        return child;
    const char *file = hs_strings__add(tree->strings, frame->file);
    tree->node[made] =
        (struct hs_slice_node){.function = function, .library = library, .file = file, .line = frame->line};
    return file ? child : 0;
}

static int add_stack(void *context, const struct hs_fleet_stack *stack, const struct hs_value *in_use)
{
    const struct slice_adding *adding = context;
    struct hs_slice_tree *tree = adding->tree;
    const size_t count = stack ? stack->count : 0;
    uint32_t at = 0;
    for (size_t i = 0; i < count; i++) {
        at = child_of(tree, at, &stack->frames[tree->inverted ? i : count - 1 - i]);
        if (!at)
            return -ENOMEM;
    }
    hs_value__add(&tree->node[at].own[adding->side], in_use);
    return 0;
}

int hs_slice_tree__add(struct hs_slice_tree *tree, enum hs_slice_side side, struct hs_database *database,
                       const struct hs_fleet_slice *slice, bool per_device, struct hs_error *error)
{
    struct slice_adding adding = {tree, side};
    tree->compares |= side == HS_SLICE_BASE;
    if (start(tree))
        return hs_error__set(error, ENOMEM, "out of memory");
    return hs_slice_stacks__each(database, slice, per_device, add_stack, &adding, error);
}

// ---- the end -------------------------------------------------------------------------------------------------------

static void add_up(struct hs_slice_tree *tree)
{
    for (size_t i = tree->paths.count; i--;) {
        struct hs_slice_node *node = &tree->node[i];
        const struct hs_value *now = &node->own[HS_SLICE_NOW], *base = &node->own[HS_SLICE_BASE];
        node->own_shown = tree->compares ? (struct hs_value){hs_number__distance(now->bytes, base->bytes),
                                                             hs_number__distance(now->count, base->count)}
                                         : *now;
        tree->paths.at[i].value = node->own_shown;
        for (size_t side = 0; side < HS_SLICE_SIDES; side++) {
            hs_value__add(&node->all[side], &node->own[side]);
            if (i)
                hs_value__add(&tree->node[tree->paths.at[i].parent].all[side], &node->all[side]);
        }
    }
    hs_paths__finish(&tree->paths);
}

static int by_size(const void *left, const void *right, void *context)
{
    const struct hs_slice_tree *tree = context;
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const struct hs_value *first = &tree->paths.at[a].value, *second = &tree->paths.at[b].value;
    if (first->bytes != second->bytes)
        return first->bytes < second->bytes ? 1 : -1;
    int order = strcmp(tree->node[a].function, tree->node[b].function);
    return order ? order : (a > b) - (a < b);
}

int hs_slice_tree__finish(struct hs_slice_tree *tree, size_t most)
{
    add_up(tree);
    if (hs_paths__sort(&tree->paths, by_size, tree))
        return -ENOMEM;
    return hs_paths__prune(&tree->paths, most, &tree->left_out);
}

void hs_slice_tree__free(struct hs_slice_tree *tree)
{
    hs_paths__free(&tree->paths);
    free(tree->node);
    if (tree->strings)
        hs_strings__destroy(tree->strings);
    *tree = (struct hs_slice_tree){0};
}
