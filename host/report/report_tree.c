// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/report/call_tree.h"
#include "host/report/frames.h"
#include "host/report/report.h"
#include "host/report/text.h"

#include <math.h>
#include <stdlib.h>

#define INVERTED_LEVELS 24

struct tree_printer {
    FILE *out;
    const struct hs_style *style;
    uint64_t whole;
    uint64_t least;
    unsigned *indents; // by depth
    size_t indent_count;
};

// The children that will be printed.
static uint32_t visible_children(const struct hs_call_tree *tree, const struct tree_printer *printer, uint32_t index)
{
    const struct hs_tree_node *node = &tree->node[index];
    uint32_t count = 0;
    while (count < node->children && tree->node[tree->order[node->child + count]].bytes >= printer->least)
        count++;
    return count;
}

static bool remember_indent(struct tree_printer *printer, unsigned depth, unsigned indent)
{
    if (depth >= printer->indent_count) {
        size_t count = depth * 2 + 64;
        unsigned *indents = reallocarray(printer->indents, count, sizeof(*indents));
        if (!indents)
            return false;
        printer->indents = indents;
        printer->indent_count = count;
    }
    printer->indents[depth] = indent;
    return true;
}

static bool print_node(void *context, const struct hs_call_tree *tree, uint32_t index, unsigned depth)
{
    struct tree_printer *printer = context;
    const struct hs_tree_node *node = &tree->node[index];
    if (node->bytes < printer->least || !node->bytes)
        return false;
    // A caller with one callee needs no level of its own: deep stacks stay on the screen. "+" begins a branch.
    unsigned above = depth ? printer->indents[depth - 1] : 0;
    bool branches = visible_children(tree, printer, node->parent) > 1;
    unsigned indent = above + (branches ? 2 : 0);
    if (!remember_indent(printer, depth, indent))
        return false;
    fprintf(printer->out, "%s%6s%s %10s %12s  %*s", printer->style->number,
            hs_text__percent(node->bytes, printer->whole).text, printer->style->plain, hs_text__bytes(node->bytes).text,
            hs_text__count(node->blocks).text, (int)above, "");
    if (branches)
        fputs("+ ", printer->out);
    struct hs_frame frame = {.function = node->frame->function, .module = node->frame->module, .kind = HS_FRAME_OFFSET};
    hs_frame__print(printer->out, printer->style, &frame);
    return true;
}

int hs_report__tree(FILE *out, const struct hs_subject *subject, const struct hs_report_options *options)
{
    struct hs_call_tree tree;
    const struct hs_style *style = hs_style__for(out);
    int result = options->inverted
                     ? hs_call_tree__build_inverted(&tree, subject->symbols, &subject->totals, options->cost,
                                                    HS_TREE_BY_BYTES, INVERTED_LEVELS)
                     : hs_call_tree__build(&tree, subject->symbols, &subject->totals, options->cost, HS_TREE_BY_BYTES);
    if (result)
        return result;
    uint64_t whole = tree.node[0].bytes;
    struct tree_printer printer = {.out = out, .style = style, .whole = whole};
    printer.least = (uint64_t)ceil((double)whole * options->least_percent / 100);
    fprintf(out, "%sMemory %s, %s%s: %s in %s (below %g%% not shown)\n", style->heading,
            hs_subject__title(subject, options->cost),
            options->inverted ? "by the functions that allocate, callers below" : "from callers down to callees",
            style->plain, hs_text__bytes(whole).text, hs_text__blocks(tree.node[0].blocks).text,
            options->least_percent);
    fprintf(out, "%s%6s %10s %12s%s\n", style->faint, "share", "bytes", "blocks", style->plain);
    hs_call_tree__walk(&tree, print_node, &printer);
    free(printer.indents);
    hs_call_tree__free(&tree);
    return 0;
}
