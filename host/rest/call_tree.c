// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /call_tree, /inverted_tree, /sandwich: trees of functions, cut here so that the client gets what it can show.
#include "host/report/events.h"
#include "host/rest/answers.h"
#include "host/rest/label_tree.h"
#include "host/rest/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CUTS                                                                                                           \
    {.name = "depth",                                                                                                  \
     .kind = HS_REST_NUMBER,                                                                                           \
     .least = 1,                                                                                                       \
     .most = 10000,                                                                                                    \
     .otherwise = "200",                                                                                               \
     .help = "at most so many levels"},                                                                                \
        {.name = "least",                                                                                              \
         .kind = HS_REST_REAL,                                                                                         \
         .otherwise = "0.1",                                                                                           \
         .help = "leave out functions with less than this percentage of all bytes"},                                   \
        {.name = "children",                                                                                           \
         .kind = HS_REST_NUMBER,                                                                                       \
         .least = 1,                                                                                                   \
         .most = 100000,                                                                                               \
         .otherwise = "1000",                                                                                          \
         .help = "at most so many children of one function, the largest of them"},                                     \
    {                                                                                                                  \
        .name = "cost", .kind = HS_REST_CHOICE, .choices = "allocated live peak temporary", .otherwise = "allocated",  \
        .help = "which of the blocks that match: all, those that are still there, those of the peak, the short-lived"  \
    }

const struct hs_rest_parameter hs_call_tree_parameters[] = {CUTS, {0}};
const struct hs_rest_parameter hs_sandwich_parameters[] = {
    {.name = "function",
     .kind = HS_REST_TEXT,
     .required = true,
     .help = "the name of the function in the middle, all of it"},
    CUTS,
    {0},
};

struct trees {
    struct hs_label_tree tree[2]; // of a sandwich: callers, callees
    enum hs_cost cost;
};

static void free_trees(void *work)
{
    struct trees *trees = work;
    hs_label_tree__free(&trees->tree[0]);
    hs_label_tree__free(&trees->tree[1]);
    free(trees);
}

static int start(struct hs_question *question, struct trees **trees)
{
    *trees = calloc(1, sizeof(**trees));
    if (!*trees)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    question->work = *trees;
    question->free_work = free_trees;
    (*trees)->cost = hs_cost__parse(hs_question__text(question, "cost"));
    if (!(hs_events_kind__of(question->events)->costs >> (*trees)->cost & 1))
        return hs_error__set(&question->error, EINVAL, "cost: '%s' is not known of %s",
                             hs_question__text(question, "cost"), hs_events_kind__of(question->events)->words);
    if (hs_label_tree__start(&(*trees)->tree[0]) || hs_label_tree__start(&(*trees)->tree[1]))
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    return 0;
}

// ---- the frames of a stack ------------------------------------------------------------------------------------------

struct path {
    const struct hs_frame **frame; // innermost first
    uint32_t *node;
    size_t count, capacity;
};

static int add_frame(struct path *path, const struct hs_frame *frame, uint32_t node)
{
    if (path->count == path->capacity) {
        size_t capacity = path->capacity ? 2 * path->capacity : 256;
        const struct hs_frame **frames = reallocarray(path->frame, capacity, sizeof(*frames));
        if (frames)
            path->frame = frames;
        uint32_t *nodes = reallocarray(path->node, capacity, sizeof(*nodes));
        if (nodes)
            path->node = nodes;
        if (!frames || !nodes)
            return -ENOMEM;
        path->capacity = capacity;
    }
    path->node[path->count] = node;
    path->frame[path->count++] = frame;
    return 0;
}

static int read_path(struct path *path, const struct hs_question *question, uint32_t stack)
{
    int failed = 0;
    path->count = 0;
    for (uint32_t node = stack; node && !failed; node = hs_trace_symbols__parent(question->symbols, node)) {
        const struct hs_frames *frames = hs_trace_symbols__node(question->symbols, node);
        for (uint32_t i = 0; i < frames->count && !failed; i++)
            failed = add_frame(path, &frames->frame[i], node);
    }
    return failed;
}

static void free_path(struct path *path)
{
    free(path->frame);
    free(path->node);
}

// ---- trees ----------------------------------------------------------------------------------------------------------

struct value {
    uint64_t bytes, count;
};

static int descend(struct hs_label_tree *tree, uint32_t *at, const struct path *path, size_t i, struct value value)
{
    const struct hs_frame *frame = path->frame[i];
    uint64_t key[2] = {(uint64_t)(uintptr_t)frame->function, 0};
    *at = hs_label_tree__child(tree, *at, key, frame, path->node[i]);
    if (!*at)
        return -ENOMEM;
    tree->at[*at].bytes += value.bytes;
    tree->at[*at].count += value.count;
    return 0;
}

static void add_self(struct hs_label_tree *tree, uint32_t at, struct value value)
{
    tree->at[at].self_bytes += value.bytes;
    tree->at[at].self_count += value.count;
}

static void add_root(struct hs_label_tree *tree, struct value value)
{
    tree->at[0].bytes += value.bytes;
    tree->at[0].count += value.count;
}

// From frame `from` towards the innermost, or towards the outermost.
static int add_path(struct hs_label_tree *tree, const struct path *path, size_t from, bool outwards, struct value value)
{
    uint32_t at = 0;
    int failed = 0;
    add_root(tree, value);
    if (outwards)
        for (size_t i = from; i < path->count && !failed; i++)
            failed = descend(tree, &at, path, i, value);
    else
        for (size_t i = from; i-- > 0 && !failed;)
            failed = descend(tree, &at, path, i, value);
    if (!failed)
        add_self(tree, at, value);
    return failed;
}

typedef int (*add_function)(const struct hs_question *question, struct trees *trees, const struct path *path,
                            struct value value);

static int add_downwards(const struct hs_question *question, struct trees *trees, const struct path *path,
                         struct value value)
{
    (void)question;
    return add_path(&trees->tree[0], path, path->count, false, value);
}

static int add_upwards(const struct hs_question *question, struct trees *trees, const struct path *path,
                       struct value value)
{
    (void)question;
    return add_path(&trees->tree[0], path, 0, true, value);
}

// A function that calls itself is taken where it was called first: what it leads to is counted once.
static int add_halves(const struct hs_question *question, struct trees *trees, const struct path *path,
                      struct value value)
{
    const char *function = hs_question__text(question, "function");
    size_t found = path->count;
    while (found > 0 && strcmp(path->frame[found - 1]->function, function) != 0)
        found--;
    if (!found)
        return 0;
    int failed = add_path(&trees->tree[0], path, found, true, value);
    return failed ? failed : add_path(&trees->tree[1], path, found - 1, false, value);
}

static int add_all(struct hs_question *question, add_function add)
{
    struct trees *trees;
    const struct hs_totals *totals;
    struct path path = {0};
    int result = start(question, &trees);
    if (!result)
        result = hs_question__totals(question, &totals);
    if (result)
        return result;
    int failed = 0;
    for (size_t i = 0; i < totals->count && !failed; i++) {
        const struct hs_total *total = &totals->total[i];
        struct value value = {hs_cost__bytes(total, trees->cost), hs_cost__blocks(total, trees->cost)};
        if (!value.count)
            continue;
        failed = read_path(&path, question, total->stack);
        if (!failed)
            failed = add(question, trees, &path, value);
    }
    free_path(&path);
    return failed ? hs_error__set(&question->error, ENOMEM, "out of memory; a narrower filter needs less") : 0;
}

int hs_prepare__call_tree(struct hs_question *question)
{
    return add_all(question, add_downwards);
}

int hs_prepare__inverted_tree(struct hs_question *question)
{
    return add_all(question, add_upwards);
}

int hs_prepare__sandwich(struct hs_question *question)
{
    return add_all(question, add_halves);
}

// ---- writing --------------------------------------------------------------------------------------------------------

struct cutting {
    struct hs_question *question;
    FILE *out;
    const struct hs_label_tree *tree;
    uint64_t least;
    unsigned depth;
    size_t children;
};

static int compare(const void *left, const void *right, void *context)
{
    const struct hs_label_tree *tree = context;
    const struct hs_label_node *a = &tree->at[*(const uint32_t *)left], *b = &tree->at[*(const uint32_t *)right];
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    int names = strcmp(a->frame->function, b->frame->function);
    return names ? names : (a > b) - (a < b);
}

// The children that are shown, largest first; to be freed.
static uint32_t *choose(const struct cutting *cutting, uint32_t at, unsigned depth, size_t *count)
{
    size_t all = 0;
    const struct hs_label_tree *tree = cutting->tree;
    for (uint32_t child = tree->at[at].first_child; child; child = tree->at[child].sibling)
        all++;
    uint32_t *chosen = malloc((all + 1) * sizeof(*chosen));
    *count = 0;
    for (uint32_t child = tree->at[at].first_child; chosen && child && depth < cutting->depth;
         child = tree->at[child].sibling)
        if (tree->at[child].bytes >= cutting->least)
            chosen[(*count)++] = child;
    if (chosen && *count)
        qsort_r(chosen, *count, sizeof(*chosen), compare, (void *)(uintptr_t)tree);
    *count = *count < cutting->children ? *count : cutting->children;
    return chosen;
}

static void write_members(struct hs_json *json, const struct cutting *cutting, uint32_t at)
{
    const struct hs_label_node *node = &cutting->tree->at[at];
    char *memory = NULL;
    if (node->frame) {
        hs_json__string(json, "function", hs_write__function(cutting->question, node->frame->function, &memory));
        hs_json__string(json, "library", *node->frame->module ? hs_base_name(node->frame->module) : NULL);
        free(memory);
    }
    hs_json__number(json, "size", node->bytes);
    hs_json__number(json, "count", node->count);
    hs_json__number(json, "self_size", node->self_bytes);
    hs_json__number(json, "self_count", node->self_count);
}

static void write_left_out(struct hs_json *json, const struct cutting *cutting, uint32_t at, const uint32_t *chosen,
                           size_t count)
{
    const struct hs_label_node *node = &cutting->tree->at[at];
    uint64_t bytes = node->bytes - node->self_bytes, blocks = node->count - node->self_count;
    for (size_t i = 0; i < count; i++) {
        bytes -= cutting->tree->at[chosen[i]].bytes;
        blocks -= cutting->tree->at[chosen[i]].count;
    }
    hs_json__number(json, "left_out_size", bytes);
    hs_json__number(json, "left_out_count", blocks);
}

// As deep as `depth` says at most, so that the stack is deep enough. The writer of JSON counts no levels here.
static int write_node(const struct cutting *cutting, uint32_t at, unsigned depth)
{
    struct hs_json json;
    size_t count = 0;
    uint32_t *chosen = choose(cutting, at, depth, &count);
    if (!chosen)
        return -ENOMEM;
    putc_unlocked('{', cutting->out);
    hs_json__start(&json, cutting->out, false);
    json.depth = 1;
    write_members(&json, cutting, at);
    write_left_out(&json, cutting, at, chosen, count);
    fputs(",\"children\":[", cutting->out);
    int failed = 0;
    for (size_t i = 0; i < count && !failed; i++) {
        if (i)
            putc_unlocked(',', cutting->out);
        failed = write_node(cutting, chosen[i], depth + 1);
    }
    fputs("]}", cutting->out);
    free(chosen);
    return failed ? failed : ferror(cutting->out) ? -EPIPE : 0;
}

static int write_tree(struct hs_question *question, FILE *out, const struct hs_label_tree *tree)
{
    struct cutting cutting = {.question = question,
                              .out = out,
                              .tree = tree,
                              .depth = (unsigned)hs_question__number(question, "depth", 200),
                              .children = hs_question__number(question, "children", 1000)};
    cutting.least = (uint64_t)((double)tree->at[0].bytes * hs_question__real(question, "least", 0.1) / 100);
    return write_node(&cutting, 0, 0);
}

int hs_answer__call_tree(struct hs_question *question, FILE *out)
{
    struct trees *trees = question->work;
    int failed = write_tree(question, out, &trees->tree[0]);
    putc('\n', out);
    return failed;
}

int hs_answer__sandwich(struct hs_question *question, FILE *out)
{
    struct trees *trees = question->work;
    fputs("{\"callers\":", out);
    int failed = write_tree(question, out, &trees->tree[0]);
    fputs(",\"callees\":", out);
    if (!failed)
        failed = write_tree(question, out, &trees->tree[1]);
    fputs("}\n", out);
    return failed;
}
