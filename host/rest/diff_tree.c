// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /diff_tree: what differs between two instants or ranges of a trace, or between two traces, as a tree of functions,
// lines or libraries. Functions are the same when their keys are.
#include "host/base/numbers.h"
#include "host/base/path.h"
#include "host/report/call_tree.h"
#include "host/rest/answers.h"
#include "host/rest/diff.h"
#include "host/rest/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define INVERTED_LEVELS 24

const struct hs_rest_parameter hs_diff_tree_parameters[] = {
    HS_DIFF_PARAMETERS,
    {.name = "by",
     .kind = HS_REST_CHOICE,
     .choices = "function library line",
     .default_value = "function",
     .help = "the nodes are functions, libraries (successive frames of one library are one node), or lines of "
             "functions; a line of another build is the same if function, file name and number are"},
    HS_INVERTED_PARAMETER,
    {.name = "nodes",
     .kind = HS_REST_NUMBER,
     .least = 1,
     .most = 100000,
     .default_value = "20000",
     .help = "at most this many nodes, those with the largest changes"},
    {0},
};

struct diff_tree_node {
    const struct hs_frame *frame; // NULL: the root
    struct hs_frame_key key;
    struct hs_value base, now, base_self, now_self;
};

struct diff_tree {
    // The bytes of a node are changes of what ends there and below, whatever their signs. `place`: in the answer + 1;
    // 0: left out.
    struct hs_paths paths;
    struct diff_tree_node *node; // by number
    size_t room;
    uint32_t *order;
    size_t shown;
    bool by_library, by_line;
    enum hs_cost cost;
};

static void free_diff_tree(void *work)
{
    struct diff_tree *tree = work;
    hs_paths__free(&tree->paths);
    free(tree->node);
    free(tree->order);
    free(tree);
}

// ---- nodes ----------------------------------------------------------------------------------------------------------

static int start(struct diff_tree *tree)
{
    if (hs_paths__start(&tree->paths) || !HS_ARRAY_HAS_ROOM(tree->node, 0, tree->room))
        return -ENOMEM;
    tree->node[0] = (struct diff_tree_node){.key = {"", "", NULL, 0}};
    return 0;
}

struct diff_tree_key {
    const struct diff_tree_node *node;
    const struct hs_frame_key *key;
    const struct hs_frame *line; // NULL: lines do not count
};

// Builds of one program may be made in different folders.
static const char *file_of(const struct hs_frame *frame)
{
    return frame->file ? hs_path__name(frame->file) : "";
}

static bool has_key(const void *key, uint32_t number)
{
    const struct diff_tree_key *wanted = key;
    const struct diff_tree_node *node = &wanted->node[number];
    return hs_frame_key__is(&node->key, wanted->key) &&
           (!wanted->line ||
            (node->frame->line == wanted->line->line && !strcmp(file_of(node->frame), file_of(wanted->line))));
}

static struct hs_frame_key key_of(const struct diff_tree *tree, struct hs_frame_source *source,
                                  const struct hs_frame *frame)
{
    if (tree->by_library)
        return (struct hs_frame_key){.function = "", .library = hs_frame_key_library(frame->module, source->program)};
    return hs_frame_key__of(source, frame);
}

// The child of `parent` for the frame; 0: out of memory.
static uint32_t child_of(struct diff_tree *tree, uint32_t parent, struct hs_frame_source *source,
                         const struct hs_frame *frame)
{
    const struct hs_frame_key key = key_of(tree, source, frame);
    const uint32_t made = (uint32_t)tree->paths.count;
    if (tree->by_library && parent && hs_frame_key__is(&tree->node[parent].key, &key))
        return parent;
    if (!HS_ARRAY_HAS_ROOM(tree->node, made, tree->room))
        return 0;
    const struct diff_tree_key wanted = {tree->node, &key, tree->by_line ? frame : NULL};
    const uint64_t hash = hs_hash__pair(hs_frame_key__hash(&key), tree->by_line ? frame->line : 0);
    const uint32_t child = hs_paths__child(&tree->paths, parent, hash, has_key, &wanted);
    if (child == made)
        tree->node[made] = (struct diff_tree_node){.frame = frame, .key = key};
    return child;
}

// A node of the call tree. What passes through two nodes that are one here is counted once: at the outer one.
static void add_node(struct diff_tree *tree, const struct hs_call_tree *from, uint32_t index, uint32_t to, bool is_new,
                     bool now)
{
    const struct hs_value own = hs_paths__own(&from->paths, index);
    struct diff_tree_node *at = &tree->node[to];
    if (is_new)
        hs_value__add(now ? &at->now : &at->base, &from->paths.at[index].value);
    hs_value__add(now ? &at->now_self : &at->base_self, &own);
}

static int add_tree(struct diff_tree *tree, const struct hs_call_tree *from, struct hs_frame_source *source, bool now)
{
    uint32_t *to = calloc(from->paths.count, sizeof(*to));
    if (!to)
        return -ENOMEM;
    add_node(tree, from, 0, 0, true, now);
    int result = 0;
    for (uint32_t i = 1; i < from->paths.count && !result; i++) {
        const uint32_t parent = to[from->paths.at[i].parent];
        to[i] = child_of(tree, parent, source, from->node[i].frame);
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
    if (!HS_ARRAY_HAS_ROOM(to->totals.total, to->totals.count, to->room))
        return -ENOMEM;
    to->totals.total[to->totals.count++] = *total;
    return 0;
}

static int build(const struct diff_tree *tree, struct hs_call_tree *calls, struct hs_trace_symbols *symbols,
                 const struct hs_totals *totals, bool inverted)
{
    if (tree->by_line)
        return hs_call_tree__build_lines(calls, symbols, totals, tree->cost, inverted ? INVERTED_LEVELS : 0);
    if (inverted)
        return hs_call_tree__build_inverted(calls, symbols, totals, tree->cost, HS_TREE_BY_BYTES, INVERTED_LEVELS);
    return hs_call_tree__build(calls, symbols, totals, tree->cost, HS_TREE_BY_BYTES);
}

static int add_side(struct diff_tree *tree, const struct hs_rest_state *state, const struct hs_rest_state *other,
                    const struct hs_stack_totals *stacks, bool inverted, bool now)
{
    struct hs_frame_source source = hs_diff__source(state, other);
    struct taking_totals taking = {.room = 0};
    struct hs_call_tree calls;
    int result = hs_stack_totals__each(stacks, take_total, &taking);
    if (!result)
        result = build(tree, &calls, state->symbols, &taking.totals, inverted);
    free(taking.totals.total);
    if (result)
        return result;
    result = add_tree(tree, &calls, &source, now);
    hs_call_tree__free(&calls);
    return result;
}

// ---- the largest changes --------------------------------------------------------------------------------------------

static bool differs(const struct diff_tree *tree, uint32_t at)
{
    const struct diff_tree_node *node = &tree->node[at];
    return tree->paths.at[at].value.bytes || node->base.count != node->now.count;
}

static void add_up_changes(struct diff_tree *tree)
{
    for (size_t i = 0; i < tree->paths.count; i++) {
        const struct diff_tree_node *node = &tree->node[i];
        tree->paths.at[i].value.bytes = hs_number__distance(node->now_self.bytes, node->base_self.bytes);
    }
    hs_paths__finish(&tree->paths);
}

static int compare(const void *left, const void *right, void *context)
{
    const struct hs_path_node *nodes = context;
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (nodes[a].value.bytes != nodes[b].value.bytes)
        return nodes[a].value.bytes < nodes[b].value.bytes ? 1 : -1;
    return (a > b) - (a < b);
}

// No node has more than its parent: the first of this order include the parents of all.
static int choose(struct diff_tree *tree, uint64_t most)
{
    struct hs_path_node *nodes = tree->paths.at;
    const size_t count = tree->paths.count;
    add_up_changes(tree);
    tree->order = malloc(count * sizeof(*tree->order));
    if (!tree->order)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        tree->order[i] = i;
    qsort_r(tree->order, count, sizeof(*tree->order), compare, nodes);
    for (size_t i = 0; i < count && tree->shown < most; i++) {
        const uint32_t at = tree->order[i];
        if (at && (!differs(tree, at) || !nodes[nodes[at].parent].place))
            continue;
        tree->order[tree->shown] = at;
        nodes[at].place = (uint32_t)++tree->shown;
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
    tree->by_line = !strcmp(hs_question__text(question, "by"), "line");
    int result = hs_diff__check_ranges(question, base);
    if (!result)
        result = hs_diff__cost(question, base, &tree->cost);
    if (!result)
        result = hs_question__stack_totals(question, &now);
    if (!result)
        result = hs_diff__base(question, base, &before);
    if (result)
        return result;
    if (start(tree) || add_side(tree, question->state, base, &now, inverted, true) ||
        add_side(tree, base, question->state, &before, inverted, false) ||
        choose(tree, hs_question__number(question, "nodes", 20000)))
        return hs_error__set(&question->error, ENOMEM, "out of memory; a narrower filter needs less");
    return 0;
}

static void write_side(struct hs_json *json, const char *key, const struct hs_value *side)
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
    hs_json__string(json, "library", node->frame ? hs_path__name(node->frame->module) : NULL);
    free(memory);
    if (!tree->by_line)
        return;
    hs_json__string(json, "source", node->frame ? node->frame->file : NULL);
    if (node->frame && node->frame->line)
        hs_json__number(json, "line", node->frame->line);
    else
        hs_json__null(json, "line");
}

static void write_node(struct hs_json *json, const struct hs_question *question, const struct diff_tree *tree,
                       uint32_t at)
{
    const struct hs_path_node *nodes = tree->paths.at;
    const struct diff_tree_node *node = &tree->node[at];
    hs_json__open_object(json, NULL);
    if (node->frame)
        hs_json__number(json, "parent", nodes[nodes[at].parent].place - 1);
    else
        hs_json__null(json, "parent");
    write_names(json, question, tree, node);
    write_side(json, "base", &node->base);
    write_side(json, "now", &node->now);
    hs_json__signed(json, "size_delta", (int64_t)(node->now.bytes - node->base.bytes));
    hs_json__signed(json, "count_delta", (int64_t)(node->now.count - node->base.count));
    hs_json__signed(json, "self_delta", (int64_t)(node->now_self.bytes - node->base_self.bytes));
    hs_json__number(json, "moved_size", nodes[at].value.bytes);
    hs_json__boolean(json, "only_in_base", !node->now.count && node->base.count);
    hs_json__boolean(json, "only_in_now", !node->base.count && node->now.count);
    hs_json__close_object(json);
}

int hs_answer__diff_tree(struct hs_question *question, FILE *out)
{
    const struct diff_tree *tree = question->work;
    struct hs_json json;
    size_t differing = 0;
    for (uint32_t i = 1; i < tree->paths.count; i++)
        differing += differs(tree, i);
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    hs_json__open_array(&json, "nodes");
    for (size_t i = 0; i < tree->shown; i++)
        write_node(&json, question, tree, tree->order[i]);
    hs_json__close_array(&json);
    hs_json__number(&json, "left_out_nodes", differing - (tree->shown - 1));
    hs_json__close_object(&json);
    return 0;
}
