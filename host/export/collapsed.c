// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Folded stacks: the frames from the root to the leaf with ';' between, a space, and a whole number.
#include "host/base/utf8.h"
#include "host/export/export.h"
#include "host/report/call_tree.h"
#include "host/report/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct collapsed_folding {
    FILE *out;
    bool blocks;
    const struct hs_call_tree *tree;
    struct hs_path_text path; // of the current node
};

// ';' separates frames and a line is a stack: neither may come from a name, nor what is no text. Readers know no
// escapes.
static void write_name(char *to, const char *name, size_t length)
{
    for (size_t i = 0; i < length;) {
        size_t sequence = hs_utf8__shown(name + i, length - i);
        unsigned char byte = (unsigned char)name[i];
        bool text = sequence && byte != ';';
        if (text)
            memcpy(to + i, name + i, sequence);
        else
            to[i] = byte == ';' ? ':' : '?';
        i += sequence ? sequence : 1;
    }
}

static int fold(void *context, uint32_t index, unsigned depth)
{
    struct collapsed_folding *folding = context;
    const char *function = folding->tree->node[index].frame->function;
    const size_t length = strlen(function);
    char *name = hs_path_text__append(&folding->path, depth, length);
    if (!name)
        return -ENOMEM;
    write_name(name, function, length);
    const struct hs_value own = hs_paths__own(&folding->tree->paths, index);
    const uint64_t value = folding->blocks ? own.count : own.bytes;
    if (value) {
        fwrite_unlocked(folding->path.text, 1, folding->path.end[depth], folding->out);
        fprintf(folding->out, " %" PRIu64 "\n", value);
    }
    return 0;
}

int hs_export__collapsed(FILE *out, const struct hs_subject *subject, const struct hs_export_options *options)
{
    struct hs_call_tree tree;
    int result = hs_call_tree__build(&tree, subject->symbols, &subject->totals, options->cost, HS_TREE_BY_NAME);
    if (result)
        return result;
    struct collapsed_folding folding = {.out = out, .blocks = options->blocks, .tree = &tree};
    result = hs_paths__walk(&tree.paths, fold, NULL, &folding);
    hs_path_text__free(&folding.path);
    hs_call_tree__free(&tree);
    return result;
}
