// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The sampling heap profile of Chrome's developer tools: a tree of functions, each with what it holds itself. Browsers
// read numbers up to 2^53.
#include "host/base/json.h"
#include "host/export/export.h"
#include "host/report/call_tree.h"

#include <inttypes.h>

struct heapprofile_writing {
    FILE *out;
    const struct hs_call_tree *tree;
    bool blocks;
};

// A string as JSON has it.
static void write_string(FILE *out, const char *text)
{
    struct hs_json json;
    hs_json__start(&json, out, false);
    json.depth = 1; // inside something: no end of line follows
    hs_json__string(&json, NULL, text);
}

static void open_node(const struct heapprofile_writing *writing, uint32_t id, const char *function, const char *url,
                      uint64_t self)
{
    fprintf(writing->out, "{\"id\":%" PRIu32 ",\"callFrame\":{\"functionName\":", id + 1);
    write_string(writing->out, function);
    fputs(",\"scriptId\":\"0\",\"url\":", writing->out);
    write_string(writing->out, url);
    fprintf(writing->out, ",\"lineNumber\":-1,\"columnNumber\":-1},\"selfSize\":%" PRIu64 ",\"children\":[", self);
}

static uint64_t self_of(const struct heapprofile_writing *writing, uint32_t index)
{
    const struct hs_value own = hs_paths__own(&writing->tree->paths, index);
    return writing->blocks ? own.count : own.bytes;
}

static int enter_node(void *context, uint32_t index, unsigned depth)
{
    const struct heapprofile_writing *writing = context;
    const struct hs_path_node *at = writing->tree->paths.at;
    const struct hs_frame *frame = writing->tree->node[index].frame;
    (void)depth;
    if (at[at[index].parent].child != index)
        fputc(',', writing->out);
    open_node(writing, index, frame->function, frame->module, self_of(writing, index));
    return 0;
}

static int leave_node(void *context, uint32_t index, unsigned depth)
{
    const struct heapprofile_writing *writing = context;
    (void)index;
    (void)depth;
    fputs("]}", writing->out);
    return 0;
}

static void write_samples(const struct heapprofile_writing *writing)
{
    const char *separator = "";
    fputs(",\"samples\":[", writing->out);
    for (uint32_t i = 1; i < writing->tree->paths.count; i++) {
        uint64_t size = self_of(writing, i);
        if (!size)
            continue;
        fprintf(writing->out, "%s{\"size\":%" PRIu64 ",\"nodeId\":%" PRIu32 ",\"ordinal\":%" PRIu32 "}", separator,
                size, i + 1, i);
        separator = ",";
    }
    fputs("]}\n", writing->out);
}

int hs_export__heapprofile(FILE *out, const struct hs_subject *subject, const struct hs_export_options *options)
{
    struct hs_call_tree tree;
    int result = hs_call_tree__build(&tree, subject->symbols, &subject->totals, options->cost, HS_TREE_BY_NAME);
    if (result)
        return result;
    struct heapprofile_writing writing = {.out = out, .blocks = options->blocks, .tree = &tree};
    fputs("{\"head\":", out);
    open_node(&writing, 0, "(root)", "", 0);
    hs_paths__walk(&tree.paths, enter_node, leave_node, &writing);
    fputs("]}", out);
    write_samples(&writing);
    hs_call_tree__free(&tree);
    return 0;
}
