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
    struct hs_call_tree *tree; // `place` of a node is its indent
    uint64_t whole;
    uint64_t least;
};

// Whether two children will be printed.
static bool branches(const struct tree_printer *printer, uint32_t index)
{
    const struct hs_path_node *at = printer->tree->paths.at;
    const uint32_t second = at[index].child ? at[at[index].child].sibling : 0;
    return second && at[second].value.bytes >= printer->least;
}

static int print_node(void *context, uint32_t index, unsigned depth)
{
    const struct tree_printer *printer = context;
    struct hs_path_node *at = printer->tree->paths.at, *node = &at[index];
    const struct hs_frame *function = printer->tree->node[index].frame;
    (void)depth;
    if (node->value.bytes < printer->least || !node->value.bytes)
        return HS_PATHS_SKIP;
    // A caller with one callee needs no level of its own: deep stacks stay on the screen. "+" begins a branch.
    const unsigned above = at[node->parent].place;
    const bool is_branch = branches(printer, node->parent);
    node->place = above + (is_branch ? 2 : 0);
    fprintf(printer->out, "%s%7s%s %10s %12s  %*s", printer->style->number,
            hs_text__percent(node->value.bytes, printer->whole).text, printer->style->plain,
            hs_text__bytes(node->value.bytes).text, hs_text__count(node->value.count).text, (int)above, "");
    if (is_branch)
        fputs("+ ", printer->out);
    struct hs_frame frame = {.function = function->function, .module = function->module, .kind = HS_FRAME_OFFSET};
    hs_frame__print(printer->out, printer->style, &frame);
    return 0;
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
    const struct hs_value all = tree.paths.at[0].value;
    const uint64_t whole = all.bytes;
    struct tree_printer printer = {.out = out, .style = style, .tree = &tree, .whole = whole};
    printer.least = (uint64_t)ceil((double)whole * options->least_percent / 100);
    fprintf(out, "%sMemory %s, %s%s: %s in %s (below %g %% not shown)\n", style->heading,
            hs_subject__title(subject, options->cost),
            options->inverted ? "by the functions that allocate, callers below" : "from callers down to callees",
            style->plain, hs_text__bytes(whole).text, hs_text__blocks(all.count).text, options->least_percent);
    fprintf(out, "%s%7s %10s %12s%s\n", style->faint, "share", "bytes", "blocks", style->plain);
    hs_paths__walk(&tree.paths, print_node, NULL, &printer);
    hs_call_tree__free(&tree);
    return 0;
}
