// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /diff_tree: what differs between two instants of a trace, or between two traces, as a tree of functions or libraries.
// Functions are the same when their names are: addresses are others in another run, and lines in another build.
#include "host/report/call_tree.h"
#include "host/rest/answers.h"
#include "host/rest/diff.h"
#include "host/rest/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define INVERTED_LEVELS 24

const struct hs_rest_parameter hs_diff_tree_parameters[] = {
    {.name = "base", .kind = HS_REST_TEXT, .help = "the id of the trace to compare with; default this trace"},
    {.name = "base_at",
     .kind = HS_REST_INSTANT,
     .help = "compare with the blocks that were live at this instant of that trace: a time, or 'peak'"},
    {.name = "by",
     .kind = HS_REST_CHOICE,
     .choices = "function library",
     .default_value = "function",
     .help = "what the nodes are; frames of one library in a row are one node"},
    {.name = "inverted", .kind = HS_REST_FLAG, .help = "the allocating functions first, with their callers below them"},
    {.name = "nodes",
     .kind = HS_REST_NUMBER,
     .least = 1,
     .most = 100000,
     .default_value = "20000",
     .help = "at most this many nodes, those with the largest changes"},
    {0},
};

struct diff_tree_side {
    uint64_t bytes, count;
};

// Children come after their parents.
struct diff_tree_node {
    uint32_t parent;
    const struct hs_frame *frame; // NULL: the root
    const char *name;
    struct diff_tree_side base, now, base_self, now_self;
    uint64_t moved; // of it and all below: changes of what ends there, whatever their signs
    uint32_t place; // in the answer + 1; 0: left out
};

struct diff_tree {
    struct diff_tree_node *node;
    size_t count, room;
    uint32_t *slot; // number of a node, by hash of parent and name; 0: none
    size_t slots;   // a power of two
    uint32_t *order;
    size_t shown;
    bool by_library;
};

static void free_diff_tree(void *work)
{
    struct diff_tree *tree = work;
    free(tree->node);
    free(tree->slot);
    free(tree->order);
    free(tree);
}

// ---- nodes ----------------------------------------------------------------------------------------------------------

static uint64_t hash_of(uint32_t parent, const char *name)
{
    uint64_t hash = (parent + 1) * 0x9e3779b97f4a7c15u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
    return hash ^ hash >> 32;
}

static size_t slot_of(const struct diff_tree *tree, uint32_t parent, const char *name)
{
    size_t at = hash_of(parent, name) & (tree->slots - 1);
    while (tree->slot[at] &&
           (tree->node[tree->slot[at]].parent != parent || strcmp(tree->node[tree->slot[at]].name, name) != 0))
        at = (at + 1) & (tree->slots - 1);
    return at;
}

static int grow(struct diff_tree *tree)
{
    const size_t room = 2 * tree->room + 512;
    struct diff_tree_node *node = reallocarray(tree->node, room, sizeof(*node));
    if (node)
        tree->node = node;
    free(tree->slot);
    tree->slots = 1024;
    while (tree->slots < 2 * room)
        tree->slots *= 2;
    tree->slot = calloc(tree->slots, sizeof(*tree->slot));
    if (!node || !tree->slot)
        return -ENOMEM;
    tree->room = room;
    for (uint32_t i = 1; i < tree->count; i++)
        tree->slot[slot_of(tree, node[i].parent, node[i].name)] = i;
    return 0;
}

static int start(struct diff_tree *tree)
{
    if (grow(tree))
        return -ENOMEM;
    tree->node[tree->count++] = (struct diff_tree_node){.name = ""};
    return 0;
}

// The child of `parent` with this name; 0: out of memory.
static uint32_t child_of(struct diff_tree *tree, uint32_t parent, const struct hs_frame *frame)
{
    const char *name = tree->by_library ? hs_base_name(frame->module) : frame->function;
    if (tree->by_library && parent && !strcmp(tree->node[parent].name, name))
        return parent;
    size_t at = slot_of(tree, parent, name);
    if (tree->slot[at])
        return tree->slot[at];
    if (tree->count == tree->room) {
        if (grow(tree))
            return 0;
        at = slot_of(tree, parent, name);
    }
    tree->slot[at] = (uint32_t)tree->count;
    tree->node[tree->count] = (struct diff_tree_node){.parent = parent, .frame = frame, .name = name};
    return (uint32_t)tree->count++;
}

static void add(struct diff_tree_side *to, uint64_t bytes, uint64_t count)
{
    to->bytes += bytes;
    to->count += count;
}

// A node of the call tree. What passes through two nodes that are one here is counted once: at the outer one.
static void add_node(struct diff_tree *tree, const struct hs_call_tree *from, uint32_t index, uint32_t to, bool is_new,
                     bool now)
{
    const struct hs_tree_node *node = &from->node[index];
    const struct hs_tree_self self = hs_call_tree__self(from, index);
    struct diff_tree_node *at = &tree->node[to];
    if (is_new)
        add(now ? &at->now : &at->base, node->bytes, node->blocks);
    add(now ? &at->now_self : &at->base_self, self.bytes, self.blocks);
}

static int add_tree(struct diff_tree *tree, const struct hs_call_tree *from, bool now)
{
    uint32_t *to = calloc(from->count + 1, sizeof(*to));
    if (!to)
        return -ENOMEM;
    add_node(tree, from, 0, 0, true, now);
    int result = 0;
    for (uint32_t i = 1; i < from->count && !result; i++) {
        const uint32_t parent = to[from->node[i].parent];
        to[i] = child_of(tree, parent, from->node[i].frame);
        result = to[i] ? 0 : -ENOMEM;
        if (!result)
            add_node(tree, from, i, to[i], to[i] != parent, now);
    }
    free(to);
    return result;
}

// ---- sides ----------------------------------------------------------------------------------------------------------

struct taking_totals {
    struct hs_totals totals;
    size_t room;
};

static int take_total(void *context, const struct hs_total *total)
{
    struct taking_totals *to = context;
    if (to->totals.count == to->room) {
        const size_t room = 2 * to->room + 256;
        struct hs_total *grown = reallocarray(to->totals.total, room, sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        to->totals.total = grown;
        to->room = room;
    }
    to->totals.total[to->totals.count++] = *total;
    return 0;
}

static int add_side(struct diff_tree *tree, const struct hs_rest_state *state, const struct hs_stack_totals *stacks,
                    bool inverted, bool now)
{
    struct taking_totals taking = {.room = 0};
    struct hs_call_tree calls;
    int result = hs_stack_totals__each(stacks, take_total, &taking);
    if (!result)
        result = inverted
                     ? hs_call_tree__build_inverted(&calls, state->symbols, &taking.totals, HS_COST_ALLOCATED,
                                                    HS_TREE_BY_BYTES, INVERTED_LEVELS)
                     : hs_call_tree__build(&calls, state->symbols, &taking.totals, HS_COST_ALLOCATED, HS_TREE_BY_BYTES);
    free(taking.totals.total);
    if (result)
        return result;
    result = add_tree(tree, &calls, now);
    hs_call_tree__free(&calls);
    return result;
}

// ---- the largest changes --------------------------------------------------------------------------------------------

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static bool differs(const struct diff_tree_node *node)
{
    return node->moved || node->base.count != node->now.count;
}

static void add_up_changes(struct diff_tree *tree)
{
    for (size_t i = tree->count; i-- > 0;) {
        struct diff_tree_node *node = &tree->node[i];
        node->moved += distance(node->now_self.bytes, node->base_self.bytes);
        if (i)
            tree->node[node->parent].moved += node->moved;
    }
}

static int compare(const void *left, const void *right, void *context)
{
    const struct diff_tree *tree = context;
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (tree->node[a].moved != tree->node[b].moved)
        return tree->node[a].moved < tree->node[b].moved ? 1 : -1;
    return (a > b) - (a < b);
}

// No node has more than its parent: the first of this order include the parents of all.
static int choose(struct diff_tree *tree, uint64_t most)
{
    size_t count = 0;
    add_up_changes(tree);
    tree->order = malloc(tree->count * sizeof(*tree->order));
    if (!tree->order)
        return -ENOMEM;
    for (uint32_t i = 0; i < tree->count; i++)
        tree->order[count++] = i;
    qsort_r(tree->order, count, sizeof(*tree->order), compare, tree);
    for (size_t i = 0; i < count && tree->shown < most; i++) {
        struct diff_tree_node *node = &tree->node[tree->order[i]];
        if (tree->order[i] && (!differs(node) || !tree->node[node->parent].place))
            continue;
        tree->order[tree->shown] = tree->order[i];
        node->place = (uint32_t)++tree->shown;
    }
    return 0;
}

// ---- the question ---------------------------------------------------------------------------------------------------

int hs_prepare__diff_tree(struct hs_question *question)
{
    const struct hs_rest_state *base = question->other ? question->other : question->state;
    const bool inverted = hs_question__flag(question, "inverted");
    struct hs_stack_totals now, before;
    struct diff_tree *tree = calloc(1, sizeof(*tree));
    if (!tree)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    question->work = tree;
    question->free_work = free_diff_tree;
    tree->by_library = !strcmp(hs_question__text(question, "by"), "library");
    int result = hs_question__stack_totals(question, &now);
    if (!result)
        result = hs_diff__base(question, base, &before);
    if (result)
        return result;
    if (start(tree) || add_side(tree, question->state, &now, inverted, true) ||
        add_side(tree, base, &before, inverted, false) || choose(tree, hs_question__number(question, "nodes", 20000)))
        return hs_error__set(&question->error, ENOMEM, "out of memory; a narrower filter needs less");
    return 0;
}

static void write_side(struct hs_json *json, const char *key, const struct diff_tree_side *side)
{
    hs_json__open_object(json, key);
    hs_json__number(json, "size", side->bytes);
    hs_json__number(json, "count", side->count);
    hs_json__close_object(json);
}

static void write_names(struct hs_json *json, const struct hs_question *question, const struct diff_tree *tree,
                        const struct diff_tree_node *node)
{
    char *memory = NULL;
    if (tree->by_library || !node->frame)
        hs_json__null(json, "function");
    else
        hs_json__string(json, "function", hs_write__function(question, node->frame->function, &memory));
    hs_json__string(json, "library", node->frame ? hs_base_name(node->frame->module) : NULL);
    free(memory);
}

static void write_node(struct hs_json *json, const struct hs_question *question, const struct diff_tree *tree,
                       const struct diff_tree_node *node)
{
    hs_json__open_object(json, NULL);
    if (node->frame)
        hs_json__number(json, "parent", tree->node[node->parent].place - 1);
    else
        hs_json__null(json, "parent");
    write_names(json, question, tree, node);
    write_side(json, "base", &node->base);
    write_side(json, "now", &node->now);
    hs_json__signed(json, "size_delta", (int64_t)(node->now.bytes - node->base.bytes));
    hs_json__signed(json, "count_delta", (int64_t)(node->now.count - node->base.count));
    hs_json__number(json, "moved_size", node->moved);
    hs_json__boolean(json, "only_in_base", !node->now.count && node->base.count);
    hs_json__boolean(json, "only_in_now", !node->base.count && node->now.count);
    hs_json__close_object(json);
}

int hs_answer__diff_tree(struct hs_question *question, FILE *out)
{
    const struct diff_tree *tree = question->work;
    struct hs_json json;
    size_t differing = 0;
    for (size_t i = 1; i < tree->count; i++)
        differing += differs(&tree->node[i]);
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    hs_json__open_array(&json, "nodes");
    for (size_t i = 0; i < tree->shown; i++)
        write_node(&json, question, tree, &tree->node[tree->order[i]]);
    hs_json__close_array(&json);
    hs_json__number(&json, "left_out_nodes", differing - (tree->shown - 1));
    hs_json__close_object(&json);
    return 0;
}
