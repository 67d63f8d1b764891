// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /tree: the tree of return addresses, and /export/flamegraph.pl: the same as folded stacks.
#include "host/base/text_stream.h"
#include "host/rest/answers.h"
#include "host/rest/stack_tree.h"
#include "host/rest/write.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const struct hs_rest_parameter hs_tree_parameters[] = {
    {.name = "nodes",
     .kind = HS_REST_NUMBER,
     .least = 1,
     .default_value = "16000",
     .help = "at most this many addresses, the largest ones"},
    {0},
};

struct tree_tree_work {
    struct hs_stack_tree tree;
    size_t left_out;
};

static void free_tree(void *work)
{
    struct tree_tree_work *tree = work;
    hs_stack_tree__free(&tree->tree);
    free(tree);
}

int hs_prepare__tree(struct hs_question *question)
{
    struct hs_stack_totals stacks;
    struct tree_tree_work *tree = calloc(1, sizeof(*tree));
    if (!tree)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    question->work = tree;
    question->free_work = free_tree;
    int result = hs_question__stack_totals(question, &stacks);
    if (!result && hs_stack_tree__build(&tree->tree, question->store, &stacks))
        result = hs_error__set(&question->error, ENOMEM, "out of memory; a narrower filter needs less");
    return result ? result : hs_rest_state__prepare_frame_counts(question->state, &question->error);
}

int hs_prepare__bounded_tree(struct hs_question *question)
{
    int result = hs_prepare__tree(question);
    struct tree_tree_work *tree = question->work;
    if (!result && hs_stack_tree__prune(&tree->tree, hs_question__number(question, "nodes", 16000), &tree->left_out))
        result = hs_error__set(&question->error, ENOMEM, "out of memory; a narrower filter needs less");
    return result;
}

// ---- /tree ----------------------------------------------------------------------------------------------------------

struct tree_writing {
    struct hs_question *question;
    FILE *out;
};

static void write_numbers(FILE *out, const struct hs_store *store, const struct hs_stack_node *node)
{
    bool none = node->first > node->last;
    uint64_t first = none ? UINT64_MAX : hs_store__realtime_ns(store, node->first) / 1000000000u;
    uint64_t last = none ? 0 : hs_store__realtime_ns(store, node->last) / 1000000000u;
    fprintf(out, "{\"size\":%" PRIu64 ",\"count\":%" PRIu64 ",\"first\":%" PRIu64 ",\"last\":%" PRIu64,
            node->passing.bytes, node->passing.count, first, last);
}

// Inlined functions are children of those that they were inlined into.
static int enter_node(void *context, const struct hs_stack_node *node, unsigned depth, bool is_first)
{
    const struct tree_writing *writing = context;
    const struct hs_frames *frames = hs_trace_symbols__node(writing->question->symbols, node->node);
    (void)depth;
    for (uint32_t i = frames->count; i-- > 0;) {
        struct hs_json json;
        if (!is_first && i + 1 == frames->count)
            putc_unlocked(',', writing->out);
        write_numbers(writing->out, writing->question->store, node);
        fputs(",\"value\":", writing->out);
        hs_json__start(&json, writing->out, false);
        json.depth = 1; // it is within another
        hs_write__frame(&json, NULL, writing->question, node->node, &frames->frame[i]);
        fputs(",\"children\":[", writing->out);
    }
    return ferror(writing->out) ? -EPIPE : 0;
}

static int leave_node(void *context, const struct hs_stack_node *node, unsigned depth, bool is_first)
{
    const struct tree_writing *writing = context;
    const struct hs_frames *frames = hs_trace_symbols__node(writing->question->symbols, node->node);
    (void)depth;
    (void)is_first;
    for (uint32_t i = 0; i < frames->count; i++)
        fputs("]}", writing->out);
    return 0;
}

int hs_answer__tree(struct hs_question *question, FILE *out)
{
    const struct tree_tree_work *tree = question->work;
    struct tree_writing writing = {question, out};
    const struct hs_stack_node root = hs_stack_tree__root(&tree->tree);
    write_numbers(out, question->store, &root);
    if (tree->left_out)
        fprintf(out, ",\"left_out\":%zu", tree->left_out);
    fputs(",\"children\":[", out);
    int result = hs_stack_tree__walk(&tree->tree, enter_node, leave_node, &writing);
    fputs("]}\n", out);
    return result;
}

// ---- folded stacks --------------------------------------------------------------------------------------------------

struct tree_folding {
    struct hs_question *question;
    FILE *out;
    char *path;
    size_t capacity;
    size_t *ends; // by depth
    size_t depths;
};

// ';' separates frames and a line is a stack, whatever a name is.
static void append_text(FILE *to, const char *text)
{
    for (; *text; text++)
        putc_unlocked(*text == ';' ? ':' : (unsigned char)*text < 0x20 ? '?' : *text, to);
}

static void append_frame(FILE *to, const struct hs_question *question, uint32_t node, const struct hs_frame *frame)
{
    const char *library = hs_base_name(frame->module);
    bool marks =
        hs_trace_symbols__is_cut(question->symbols, node) || hs_trace_symbols__is_guess(question->symbols, node);
    if (frame->kind == HS_FRAME_NAMED || marks)
        append_text(to, frame->function);
    else
        fprintf(to, "0x%016" PRIX64, hs_write__call_address(question, node));
    fputs(" [", to);
    append_text(to, *library ? library : "???");
    putc_unlocked(']', to);
}

static char *frames_text(const struct tree_folding *folding, uint32_t node, size_t *length)
{
    struct hs_text_stream stream;
    const struct hs_frames *frames = hs_trace_symbols__node(folding->question->symbols, node);
    FILE *to = hs_text_stream__open(&stream);
    for (uint32_t i = frames->count; to && i-- > 0;) {
        append_frame(to, folding->question, node, &frames->frame[i]);
        if (i)
            putc_unlocked(';', to);
    }
    char *text = hs_text_stream__close(&stream);
    *length = stream.size;
    return text;
}

static bool reserve(struct tree_folding *folding, size_t length, unsigned depth)
{
    if (length > folding->capacity) {
        char *path = realloc(folding->path, length * 2);
        if (!path)
            return false;
        folding->path = path;
        folding->capacity = length * 2;
    }
    if (depth >= folding->depths) {
        size_t depths = 2 * (size_t)depth + 64;
        size_t *ends = reallocarray(folding->ends, depths, sizeof(*ends));
        if (!ends)
            return false;
        folding->ends = ends;
        folding->depths = depths;
    }
    return true;
}

static int fold_node(void *context, const struct hs_stack_node *node, unsigned depth, bool is_first)
{
    struct tree_folding *folding = context;
    size_t length = 0;
    char *text = frames_text(folding, node->node, &length);
    (void)is_first;
    if (!text || !reserve(folding, (depth ? folding->ends[depth - 1] : 0) + length + 2, depth)) {
        free(text);
        return -ENOMEM;
    }
    size_t end = depth ? folding->ends[depth - 1] : 0;
    if (depth)
        folding->path[end++] = ';';
    memcpy(folding->path + end, text, length);
    folding->ends[depth] = end + length;
    free(text);
    if (node->own.count) {
        fwrite_unlocked(folding->path, 1, end + length, folding->out);
        fprintf(folding->out, " %" PRIu64 "\n", node->own.bytes);
    }
    return ferror(folding->out) ? -EPIPE : 0;
}

int hs_answer__folded(struct hs_question *question, FILE *out)
{
    struct tree_folding folding = {.question = question, .out = out};
    const struct tree_tree_work *tree = question->work;
    int result = hs_stack_tree__walk(&tree->tree, fold_node, NULL, &folding);
    free(folding.path);
    free(folding.ends);
    return result;
}
