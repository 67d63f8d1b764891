// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /tree: the tree of return addresses, and /export/flamegraph.pl: the same as folded stacks.
#include "host/base/path.h"
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
    if (!result &&
        hs_paths__prune(&tree->tree.nodes.paths, hs_question__number(question, "nodes", 16000), &tree->left_out))
        result = hs_error__set(&question->error, ENOMEM, "out of memory; a narrower filter needs less");
    return result;
}

// ---- /tree ----------------------------------------------------------------------------------------------------------

struct tree_writing {
    struct hs_question *question;
    const struct hs_stack_tree *tree;
    FILE *out;
};

static void write_numbers(const struct tree_writing *writing, uint32_t node)
{
    const struct hs_store *store = writing->question->store;
    const struct hs_value *value = &writing->tree->nodes.paths.at[node].value;
    const struct hs_stack_times *times = &writing->tree->times[node];
    bool none = times->first > times->last;
    uint64_t first = none ? UINT64_MAX : hs_store__realtime_ns(store, times->first) / 1000000000u;
    uint64_t last = none ? 0 : hs_store__realtime_ns(store, times->last) / 1000000000u;
    fprintf(writing->out, "{\"size\":%" PRIu64 ",\"count\":%" PRIu64 ",\"first\":%" PRIu64 ",\"last\":%" PRIu64,
            value->bytes, value->count, first, last);
}

// Inlined functions are children of those that they were inlined into.
static int enter_node(void *context, uint32_t node, unsigned depth)
{
    const struct tree_writing *writing = context;
    const struct hs_path_node *at = writing->tree->nodes.paths.at;
    const bool is_first = at[at[node].parent].child == node;
    const struct hs_frames *frames = hs_trace_symbols__node(writing->question->symbols, at[node].place);
    (void)depth;
    for (uint32_t i = frames->count; i-- > 0;) {
        struct hs_json json;
        if (!is_first && i + 1 == frames->count)
            putc_unlocked(',', writing->out);
        write_numbers(writing, node);
        fputs(",\"value\":", writing->out);
        hs_json__start(&json, writing->out, false);
        json.depth = 1; // it is within another
        hs_write__frame(&json, NULL, writing->question, at[node].place, &frames->frame[i]);
        fputs(",\"children\":[", writing->out);
    }
    return ferror(writing->out) ? -EPIPE : 0;
}

static int leave_node(void *context, uint32_t node, unsigned depth)
{
    const struct tree_writing *writing = context;
    const uint32_t place = writing->tree->nodes.paths.at[node].place;
    const struct hs_frames *frames = hs_trace_symbols__node(writing->question->symbols, place);
    (void)depth;
    for (uint32_t i = 0; i < frames->count; i++)
        fputs("]}", writing->out);
    return 0;
}

int hs_answer__tree(struct hs_question *question, FILE *out)
{
    const struct tree_tree_work *tree = question->work;
    struct tree_writing writing = {question, &tree->tree, out};
    write_numbers(&writing, 0);
    if (tree->left_out)
        fprintf(out, ",\"left_out\":%zu", tree->left_out);
    fputs(",\"children\":[", out);
    int result = hs_paths__walk(&tree->tree.nodes.paths, enter_node, leave_node, &writing);
    fputs("]}\n", out);
    return result;
}

// ---- folded stacks --------------------------------------------------------------------------------------------------

struct tree_folding {
    struct hs_question *question;
    const struct hs_paths *paths;
    FILE *out;
    struct hs_path_text path;
};

// ';' separates frames and a line is a stack, whatever a name is.
static void append_text(FILE *to, const char *text)
{
    for (; *text; text++)
        putc_unlocked(*text == ';' ? ':' : (unsigned char)*text < 0x20 ? '?' : *text, to);
}

static void append_frame(FILE *to, const struct hs_question *question, uint32_t node, const struct hs_frame *frame)
{
    const char *library = hs_path__name(frame->module);
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

static int fold_node(void *context, uint32_t node, unsigned depth)
{
    struct tree_folding *folding = context;
    size_t length = 0;
    char *text = frames_text(folding, folding->paths->at[node].place, &length);
    char *name = text ? hs_path_text__append(&folding->path, depth, length) : NULL;
    if (name)
        memcpy(name, text, length);
    free(text);
    if (!name)
        return -ENOMEM;
    const struct hs_value own = hs_paths__own(folding->paths, node);
    if (own.count) {
        fwrite_unlocked(folding->path.text, 1, folding->path.end[depth], folding->out);
        fprintf(folding->out, " %" PRIu64 "\n", own.bytes);
    }
    return ferror(folding->out) ? -EPIPE : 0;
}

int hs_answer__folded(struct hs_question *question, FILE *out)
{
    const struct tree_tree_work *tree = question->work;
    struct tree_folding folding = {.question = question, .paths = &tree->tree.nodes.paths, .out = out};
    int result = hs_paths__walk(folding.paths, fold_node, NULL, &folding);
    hs_path_text__free(&folding.path);
    return result;
}
