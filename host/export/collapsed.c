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
    char *path; // of the node at hand
    size_t capacity;
    size_t *ends; // by depth: where the path up to there ends
    size_t depths;
    bool failed;
};

static bool reserve(struct collapsed_folding *folding, size_t length, unsigned depth)
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

// ';' separates frames and a line is a stack: neither may come from a name, nor what is no text. Readers know no
// escapes.
static size_t append_name(char *to, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < length;) {
        size_t sequence = hs_utf8__length(name + i, length - i);
        unsigned char byte = (unsigned char)name[i];
        bool text = sequence && byte >= 0x20 && byte != 0x7f && byte != ';';
        if (text)
            memcpy(to + i, name + i, sequence);
        else
            to[i] = byte == ';' ? ':' : '?';
        i += sequence ? sequence : 1;
    }
    return length;
}

static bool fold(void *context, const struct hs_call_tree *tree, uint32_t index, unsigned depth)
{
    struct collapsed_folding *folding = context;
    const char *function = tree->node[index].frame->function;
    size_t start = depth ? folding->ends[depth - 1] : 0;
    if (folding->failed || !reserve(folding, start + strlen(function) + 2, depth)) {
        folding->failed = true;
        return false;
    }
    size_t end = start;
    if (depth)
        folding->path[end++] = ';';
    end += append_name(folding->path + end, function);
    folding->ends[depth] = end;
    const struct hs_tree_self self = hs_call_tree__self(tree, index);
    uint64_t value = folding->blocks ? self.blocks : self.bytes;
    if (value) {
        fwrite_unlocked(folding->path, 1, end, folding->out);
        fprintf(folding->out, " %" PRIu64 "\n", value);
    }
    return true;
}

int hs_export__collapsed(FILE *out, const struct hs_subject *subject, const struct hs_export_options *options)
{
    struct hs_call_tree tree;
    int result = hs_call_tree__build(&tree, subject->symbols, &subject->totals, options->cost, HS_TREE_BY_NAME);
    if (result)
        return result;
    struct collapsed_folding folding = {.out = out, .blocks = options->blocks};
    hs_call_tree__walk(&tree, fold, &folding);
    free(folding.path);
    free(folding.ends);
    hs_call_tree__free(&tree);
    return folding.failed ? -ENOMEM : 0;
}
