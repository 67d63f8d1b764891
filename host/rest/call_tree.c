// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /call_tree, /inverted_tree, /sandwich: trees of functions, pruned here, so that the client gets only what it can
// show.
#include "host/base/path.h"
#include "host/report/events.h"
#include "host/rest/answers.h"
#include "host/rest/entries.h"
#include "host/rest/thread_parts.h"
#include "host/rest/transforms.h"
#include "host/rest/tree_columns.h"
#include "host/rest/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FORMATS                                                                                                        \
    {.name = "nodes",                                                                                                  \
     .kind = HS_REST_NUMBER,                                                                                           \
     .least = 1,                                                                                                       \
     .most = 1000000,                                                                                                  \
     .default_value = "16000",                                                                                         \
     .help = "at most this many functions of a tree, the largest ones"},                                               \
    {                                                                                                                  \
        .name = "format", .kind = HS_REST_CHOICE, .choices = "nested columns", .default_value = "nested",              \
        .help = "nested objects, or an array for each property, with parents before their children"                    \
    }

#define SPLIT                                                                                                          \
    {                                                                                                                  \
        .name = "split", .kind = HS_REST_CHOICE, .choices = "none thread", .default_value = "none",                    \
        .help = "make the thread that allocated the outermost frame; the largest 24 threads have a frame each, all "   \
                "others share one"                                                                                     \
    }

#define BELOW                                                                                                          \
    {                                                                                                                  \
        .name = "below", .kind = HS_REST_TEXT,                                                                         \
        .help = "only the part below one node; 0.2.1 is the second child of the third child of the first child of "    \
                "the root; least and depth are relative to this node"                                                  \
    }

#define CUTS                                                                                                           \
    {.name = "depth",                                                                                                  \
     .kind = HS_REST_NUMBER,                                                                                           \
     .least = 1,                                                                                                       \
     .most = 10000,                                                                                                    \
     .default_value = "200",                                                                                           \
     .help = "at most this many levels"},                                                                              \
        {.name = "least",                                                                                              \
         .kind = HS_REST_REAL,                                                                                         \
         .default_value = "0.1",                                                                                       \
         .help = "leave out functions with less than this percentage of all bytes"},                                   \
        {.name = "children",                                                                                           \
         .kind = HS_REST_NUMBER,                                                                                       \
         .least = 1,                                                                                                   \
         .most = 100000,                                                                                               \
         .default_value = "1000",                                                                                      \
         .help = "at most this many children of one function, the largest ones"},                                      \
    {                                                                                                                  \
        .name = "cost", .kind = HS_REST_CHOICES, .choices = "allocated live peak temporary",                           \
        .default_value = "allocated",                                                                                  \
        .help = "which of the matching blocks are added up: all, those that are still live, those that were live at "  \
                "the peak, or temporary ones; if several are given, the first one decides the order and what is left " \
                "out, and `costs` has the numbers of each"                                                             \
    }

const struct hs_rest_parameter hs_call_tree_parameters[] = {CUTS, FORMATS, BELOW, SPLIT, HS_TRANSFORM_PARAMETERS, {0}};
const struct hs_rest_parameter hs_sandwich_parameters[] = {
    {.name = "function",
     .kind = HS_REST_TEXT,
     .required = true,
     .help = "the full name of the function, library or file in the middle"},
    {.name = "by",
     .kind = HS_REST_CHOICE,
     .choices = "function library source",
     .default_value = "function",
     .help = "the kind of the middle: one function, a whole library or a whole file; a library or file is named by its "
             "path or by its name without folders"},
    {.name = "declared",
     .kind = HS_REST_TEXT,
     .help = "if several functions have this name: the place where it is declared, as in answers"},
    CUTS,
    FORMATS,
    SPLIT,
    HS_TRANSFORM_PARAMETERS,
    {0},
};

struct trees {
    struct hs_function_tree tree[2]; // of a sandwich: callers, callees
    struct hs_function_costs costs[2];
    unsigned now; // which of the costs is looked at
    struct hs_function_growth growth;
    uint32_t *path;
    size_t most; // nodes
    struct hs_thread_parts threads;
};

static bool by_thread(const struct hs_question *question)
{
    return !strcmp(hs_question__text(question, "split"), "thread");
}

static void free_trees(void *work)
{
    struct trees *trees = work;
    hs_function_tree__free(&trees->tree[0]);
    hs_function_tree__free(&trees->tree[1]);
    hs_function_costs__free(&trees->costs[0]);
    hs_function_costs__free(&trees->costs[1]);
    hs_thread_parts__free(&trees->threads);
    free(trees->path);
    free(trees);
}

static int read_path(struct hs_question *question, struct trees *trees)
{
    const char *text = hs_question__text(question, "below");
    struct hs_function_cut *cut = &trees->growth.cut;
    trees->path = text ? calloc(strlen(text) + 1, sizeof(*trees->path)) : NULL;
    cut->path = trees->path;
    while (trees->path && *text) {
        char *end;
        errno = 0;
        const unsigned long number = strtoul(text, &end, 10);
        if (*text < '0' || *text > '9' || errno || number >= UINT32_MAX || (*end && (*end != '.' || !end[1])))
            return hs_error__set(&question->error, EINVAL, "below: '%s' is not a list of numbers such as 0.2.1",
                                 hs_question__text(question, "below"));
        trees->path[cut->path_length++] = (uint32_t)number;
        text = end + (*end == '.');
    }
    return 0;
}

static int read_costs(struct hs_question *question, struct trees *trees)
{
    struct hs_function_costs *costs = &trees->costs[0];
    for (const char *at = hs_question__text(question, "cost"); *at; at += *at == ',') {
        char word[32];
        const size_t length = strcspn(at, ",");
        snprintf(word, sizeof(word), "%.*s", (int)length, at);
        const int result = hs_question__read_cost(question, question->store, word, &costs->cost[costs->count++]);
        if (result)
            return result;
        at += length;
    }
    trees->costs[1] = *costs;
    return 0;
}

static int start(struct hs_question *question, struct trees **trees)
{
    *trees = calloc(1, sizeof(**trees));
    if (!*trees)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    question->work = *trees;
    question->free_work = free_trees;
    (*trees)->growth =
        (struct hs_function_growth){.table = {.symbols = question->symbols},
                                    .cut = {.depth = (unsigned)hs_question__number(question, "depth", 200),
                                            .least = hs_question__real(question, "least", 0.1),
                                            .children = hs_question__number(question, "children", 1000)},
                                    .cancel = question->control.cancel};
    (*trees)->most = hs_question__number(question, "nodes", 16000);
    const int result = read_costs(question, *trees);
    return result ? result : read_path(question, *trees);
}

static int fail(struct hs_question *question, int failed)
{
    if (failed == -ECANCELED)
        return hs_error__set(&question->error, ECANCELED, "cancelled");
    if (failed == -ENOENT)
        return hs_error__set(&question->error, ENOENT, "below: there is no such node");
    return failed ? hs_error__set(&question->error, ENOMEM, "out of memory; a narrower filter needs less") : 0;
}

// ---- trees ----------------------------------------------------------------------------------------------------------

// The first cost makes the tree, the others are added up in it. The starts are freed.
static int grow(struct trees *trees, unsigned half, const struct hs_node_tree *nodes, struct hs_function_start *starts,
                size_t count)
{
    struct hs_function_tree *tree = &trees->tree[half];
    trees->growth.nodes = nodes;
    if (!trees->now) {
        int failed = hs_function_tree__grow(tree, &trees->growth, starts, count);
        return failed ? failed : hs_function_tree__prune(tree, trees->most);
    }
    int failed = hs_function_values__make(&trees->costs[half].values[trees->now], tree, &trees->growth, starts, count);
    free(starts);
    return failed;
}

static int grow_downwards(struct trees *trees, const struct hs_node_tree *nodes)
{
    struct hs_function_start *root = malloc(sizeof(*root));
    if (!root)
        return -ENOMEM;
    *root = (struct hs_function_start){.first = nodes->first[0], .value = nodes->paths.at[0].value};
    return grow(trees, 0, nodes, root, 1);
}

// From the stacks' innermost frames on.
static int grow_upwards(struct trees *trees, const struct hs_stack_values *stacks)
{
    struct hs_function_start *starts = calloc(stacks->count + 1, sizeof(*starts));
    const size_t nodes = hs_frame_table__count(&trees->growth.table);
    if (!starts)
        return -ENOMEM;
    for (size_t i = 0; i < stacks->count; i++) {
        const struct hs_stack_value *stack = &stacks->at[i];
        starts[i] = (struct hs_function_start){
            .at = stack->stack < nodes ? stack->stack : 0, .frame = -1, .first = stack->stack, .value = stack->value};
    }
    return grow(trees, 0, NULL, starts, stacks->count);
}

static int grow_halves(const struct hs_question *question, struct trees *trees, const struct hs_node_tree *nodes)
{
    struct hs_function_start *callees, *callers;
    size_t count;
    const char *by = hs_question__text(question, "by");
    const struct hs_entries_wanted wanted = {.by = !strcmp(by, "library")  ? HS_ENTRIES_BY_LIBRARY
                                                   : !strcmp(by, "source") ? HS_ENTRIES_BY_SOURCE
                                                                           : HS_ENTRIES_BY_FUNCTION,
                                             .name = hs_question__text(question, "function"),
                                             .declared = hs_question__text(question, "declared")};
    int failed = hs_entries__find(&trees->growth.table, nodes, &wanted, &callees, &count);
    if (failed)
        return failed;
    callers = calloc(count + 1, sizeof(*callers));
    for (size_t i = 0; callers && i < count; i++) {
        callers[i] = callees[i];
        callers[i].at = nodes->paths.at[callees[i].at].place;
    }
    failed = callers ? grow(trees, 0, NULL, callers, count) : -ENOMEM;
    if (!failed)
        return grow(trees, 1, nodes, callees, count);
    free(callees);
    return failed;
}

typedef int (*cost_grower)(const struct hs_question *question, struct trees *trees,
                           const struct hs_stack_values *stacks);

static int grow_inverted(const struct hs_question *question, struct trees *trees, const struct hs_stack_values *stacks)
{
    (void)question;
    return grow_upwards(trees, stacks);
}

static int make_nodes(struct hs_node_tree *nodes, const struct hs_question *question, const struct trees *trees,
                      const struct hs_stack_values *stacks)
{
    const struct hs_transformed *transformed = trees->growth.table.transformed;
    return transformed ? hs_node_tree__make_of(nodes, transformed->node, transformed->count, stacks->at, stacks->count)
                       : hs_node_tree__make(nodes, question->store, stacks->at, stacks->count);
}

static int grow_calls(const struct hs_question *question, struct trees *trees, const struct hs_stack_values *stacks)
{
    struct hs_node_tree nodes;
    int failed = make_nodes(&nodes, question, trees, stacks);
    if (!failed)
        failed = grow_downwards(trees, &nodes);
    hs_node_tree__free(&nodes);
    return failed;
}

static int grow_sandwich(const struct hs_question *question, struct trees *trees, const struct hs_stack_values *stacks)
{
    struct hs_node_tree nodes;
    int failed = make_nodes(&nodes, question, trees, stacks);
    if (!failed)
        failed = grow_halves(question, trees, &nodes);
    hs_node_tree__free(&nodes);
    return failed;
}

// All stacks, or those of each thread under a frame of its own.
static int transform(struct hs_question *question, struct trees *trees, const struct hs_stack_values *stacks,
                     struct hs_transformer *transformer)
{
    const enum hs_cost cost = trees->costs[0].cost[trees->now];
    struct hs_thread_parts *threads = &trees->threads;
    int result = 0;
    if (!by_thread(question))
        return hs_transformer__add(transformer, stacks, NULL, NULL);
    if (!trees->now)
        result = hs_thread_parts__choose(threads, question, cost);
    for (size_t i = 0; i <= threads->count && !result; i++) {
        struct hs_stack_values part;
        result = hs_thread_parts__values(threads, i, question, cost, stacks, &part);
        if (!result && part.count)
            result = hs_transformer__add(transformer, &part, &threads->frame[i], NULL);
        hs_stack_values__free(&part);
    }
    return result;
}

static int grow_transformed(struct hs_question *question, struct trees *trees, const struct hs_stack_values *stacks,
                            cost_grower grow_cost)
{
    struct hs_transformer *transformer;
    struct hs_transformed transformed = {0};
    const struct hs_transforms transforms = hs_question__transforms(question);
    int result =
        hs_transformer__create(&transformer, &transforms, question->symbols, &question->control, &question->error);
    if (!result)
        result = transform(question, trees, stacks, transformer);
    if (!result)
        hs_transformer__end(transformer, &transformed);
    hs_transformer__destroy(transformer);
    if (!result) {
        const struct hs_stack_values values = {.at = transformed.own, .count = transformed.own_count};
        trees->growth.table.transformed = &transformed;
        result = fail(question, grow_cost(question, trees, &values));
        trees->growth.table.transformed = NULL;
    }
    hs_transformed__free(&transformed);
    return result;
}

static int prepare(struct hs_question *question, cost_grower grow_cost)
{
    struct trees *trees;
    int result = start(question, &trees);
    const struct hs_transforms asked = hs_question__transforms(question);
    const bool transforms = by_thread(question) || hs_transforms__any(&asked);
    for (; !result && trees->now < trees->costs[0].count; trees->now++) {
        struct hs_stack_values stacks;
        result = hs_question__values(question, trees->costs[0].cost[trees->now], &stacks);
        if (!result)
            result = transforms ? grow_transformed(question, trees, &stacks, grow_cost)
                                : fail(question, grow_cost(question, trees, &stacks));
        hs_stack_values__free(&stacks);
    }
    return result;
}

int hs_prepare__inverted_tree(struct hs_question *question)
{
    return prepare(question, grow_inverted);
}

int hs_prepare__call_tree(struct hs_question *question)
{
    return prepare(question, grow_calls);
}

int hs_prepare__sandwich(struct hs_question *question)
{
    return prepare(question, grow_sandwich);
}

// ---- writing --------------------------------------------------------------------------------------------------------

struct call_tree_writing {
    struct hs_question *question;
    FILE *out;
    const struct hs_function_tree *tree;
    const struct hs_function_costs *costs;
};

static void write_sums(struct hs_json *json, const struct hs_function_values *values)
{
    hs_json__number(json, "size", values->all.bytes);
    hs_json__number(json, "count", values->all.count);
    hs_json__number(json, "self_size", values->self.bytes);
    hs_json__number(json, "self_count", values->self.count);
}

static void write_costs(struct hs_json *json, const struct call_tree_writing *writing, uint32_t at)
{
    if (writing->costs->count < 2)
        return;
    hs_json__open_object(json, "costs");
    for (unsigned i = 0; i < writing->costs->count; i++) {
        const struct hs_function_values values = hs_function_costs__of(writing->costs, i, writing->tree, at);
        hs_json__open_object(json, hs_cost__name(writing->costs->cost[i]));
        write_sums(json, &values);
        hs_json__close_object(json);
    }
    hs_json__close_object(json);
}

static void write_members(struct hs_json *json, const struct call_tree_writing *writing,
                          const struct hs_function_node *node)
{
    char *memory = NULL;
    if (node->frame) {
        hs_json__string(json, "function", hs_write__function(writing->question, node->frame->function, &memory));
        hs_json__string(json, "library", *node->frame->module ? hs_path__name(node->frame->module) : NULL);
        free(memory);
        if (hs_frame__declared(node->frame))
            hs_json__string(json, "declared", hs_frame__declared(node->frame));
    }
    write_sums(json, &(struct hs_function_values){node->all, node->self});
}

static void write_left_out(struct hs_json *json, const struct call_tree_writing *writing,
                           const struct hs_function_node *node)
{
    uint64_t bytes = node->all.bytes - node->self.bytes, blocks = node->all.count - node->self.count;
    for (uint32_t i = 0; i < node->children; i++) {
        const struct hs_function_node *child = &writing->tree->at[node->first_child + i];
        bytes -= child->all.bytes;
        blocks -= child->all.count;
    }
    hs_json__number(json, "left_out_size", bytes);
    hs_json__number(json, "left_out_count", blocks);
}

// The recursion is at most `depth` deep, for which the stack is large enough. The JSON writer does not count levels
// here.
static int write_node(const struct call_tree_writing *writing, uint32_t at)
{
    const struct hs_function_node *node = &writing->tree->at[at];
    struct hs_json json;
    putc_unlocked('{', writing->out);
    hs_json__start(&json, writing->out, false);
    json.depth = 1;
    write_members(&json, writing, node);
    write_left_out(&json, writing, node);
    write_costs(&json, writing, at);
    fputs(",\"children\":[", writing->out);
    int failed = 0;
    for (uint32_t i = 0; i < node->children && !failed; i++) {
        if (i)
            putc_unlocked(',', writing->out);
        failed = write_node(writing, node->first_child + i);
    }
    fputs("]}", writing->out);
    return failed ? failed : ferror(writing->out) ? -EPIPE : 0;
}

static int write_tree(struct hs_question *question, FILE *out, unsigned half)
{
    const struct trees *trees = question->work;
    const struct hs_function_tree *tree = &trees->tree[half];
    const struct hs_function_costs *costs = &trees->costs[half];
    if (!strcmp(hs_question__text(question, "format"), "columns"))
        return hs_tree_columns__write(question, out, tree, costs);
    const struct call_tree_writing writing = {question, out, tree, costs};
    return write_node(&writing, 0);
}

int hs_answer__call_tree(struct hs_question *question, FILE *out)
{
    int failed = write_tree(question, out, 0);
    putc('\n', out);
    return failed;
}

int hs_answer__sandwich(struct hs_question *question, FILE *out)
{
    fputs("{\"callers\":", out);
    int failed = write_tree(question, out, 0);
    fputs(",\"callees\":", out);
    if (!failed)
        failed = write_tree(question, out, 1);
    fputs("}\n", out);
    return failed;
}
