// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The differences between two dumps as a tree of functions, from callers to callees.
#include "host/dump/compare.h"
#include "host/report/call_tree.h"
#include "host/report/frames.h"
#include "host/report/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// In the nodes of this tree, the number of bytes is what is there after, the count what was there before, both in
// bytes.
static uint64_t change_of(const struct hs_value *value)
{
    return value->bytes > value->count ? value->bytes - value->count : value->count - value->bytes;
}

// By node: the sum of the changes of what ends there and below, whatever their signs. NULL: out of memory.
static uint64_t *moved_bytes(const struct hs_paths *paths)
{
    uint64_t *moved = calloc(paths->count, sizeof(*moved));
    for (uint32_t at = (uint32_t)paths->count; moved && at-- > 0;) {
        const struct hs_value own = hs_paths__own(paths, at);
        moved[at] += change_of(&own);
        if (at)
            moved[paths->at[at].parent] += moved[at];
    }
    return moved;
}

// The largest changes first.
static int compare_nodes(const void *left, const void *right, void *context)
{
    const uint64_t *moved = context;
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (moved[a] != moved[b])
        return moved[a] > moved[b] ? -1 : 1;
    return (a > b) - (a < b);
}

// Both sides in one total: see above.
static int take_sides(struct hs_totals *sides, const struct hs_totals *totals, enum hs_cost cost)
{
    *sides = (struct hs_totals){.total = calloc(totals->count + 1, sizeof(*sides->total)), .count = totals->count};
    for (size_t i = 0; sides->total && i < totals->count; i++) {
        const struct hs_total *total = &totals->total[i];
        const bool all = cost == HS_COST_ALLOCATED;
        sides->total[i] = (struct hs_total){.stack = total->stack,
                                            .live_bytes = all ? total->allocated_bytes : total->live_bytes,
                                            .live_count = all ? total->temporary_bytes : total->peak_bytes};
    }
    return sides->total ? 0 : -ENOMEM;
}

struct change_printer {
    FILE *out;
    const struct hs_style *style;
    struct hs_call_tree *tree; // `place` of a node is its indent
    uint64_t *moved;           // by node
    uint64_t least;
    bool by_line;
};

static bool is_shown(const struct change_printer *printer, uint32_t index)
{
    return printer->moved[index] && printer->moved[index] >= printer->least;
}

// Whether two children are shown.
static bool branches(const struct change_printer *printer, uint32_t index)
{
    const struct hs_path_node *at = printer->tree->paths.at;
    const uint32_t second = at[index].child ? at[at[index].child].sibling : 0;
    return second && is_shown(printer, second);
}

static const char *sign_of(const struct hs_path_node *node)
{
    return node->value.bytes > node->value.count ? "+" : node->value.bytes < node->value.count ? "-" : "";
}

static void print_change(const struct change_printer *printer, const struct hs_path_node *node)
{
    char change[64];
    snprintf(change, sizeof(change), "%s%s", sign_of(node), hs_text__bytes(change_of(&node->value)).text);
    fprintf(printer->out, "%s%11s%s %10s %10s  %-4s ", printer->style->number, change, printer->style->plain,
            hs_text__bytes(node->value.count).text, hs_text__bytes(node->value.bytes).text,
            !node->value.count   ? "new"
            : !node->value.bytes ? "gone"
                                 : "");
}

static int print_node(void *context, uint32_t index, unsigned depth)
{
    const struct change_printer *printer = context;
    struct hs_path_node *at = printer->tree->paths.at, *node = &at[index];
    const struct hs_frame *function = printer->tree->node[index].frame;
    const unsigned above = at[node->parent].place;
    (void)depth;
    if (!is_shown(printer, index))
        return HS_PATHS_SKIP;
    const bool is_branch = branches(printer, node->parent);
    node->place = above + (is_branch ? 2 : 0);
    print_change(printer, node);
    fprintf(printer->out, "%*s%s", (int)above, "", is_branch ? "+ " : "");
    const struct hs_frame frame = {.function = function->function, .module = function->module, .kind = HS_FRAME_OFFSET};
    hs_frame__print(printer->out, printer->style, printer->by_line ? function : &frame);
    return 0;
}

static void print_tree(FILE *out, const struct hs_dump_view *view, const struct hs_compare_options *options,
                       struct change_printer *printer)
{
    const struct hs_style *style = printer->style;
    const struct hs_path_node *root = &printer->tree->paths.at[0];
    fprintf(out, "%sMemory %s, from callers down to callees%s: ", style->heading,
            options->cost == HS_COST_ALLOCATED ? "allocated" : "in use", style->plain);
    if (!printer->moved[0]) {
        fputs("no difference\n", out);
        return;
    }
    fprintf(out, "%s%s from ", sign_of(root), hs_text__bytes(change_of(&root->value)).text);
    hs_text__print(out, view->dumps[0]->name, strlen(view->dumps[0]->name));
    fputs(" to ", out);
    hs_text__print(out, view->dumps[1]->name, strlen(view->dumps[1]->name));
    fprintf(out, " (below %g %% of what changed not shown; of stacks that changed)\n%s%11s %10s %10s%s\n",
            options->least_percent, style->faint, "change", "before", "after", style->plain);
    hs_paths__walk(&printer->tree->paths, print_node, NULL, printer);
}

static int sort_and_print(FILE *out, const struct hs_dump_view *view, const struct hs_compare_options *options,
                          struct hs_call_tree *tree)
{
    struct change_printer printer = {
        .out = out, .style = hs_style__for(out), .tree = tree, .by_line = options->by_line};
    printer.moved = moved_bytes(&tree->paths);
    int result = printer.moved ? hs_paths__sort(&tree->paths, compare_nodes, printer.moved) : -ENOMEM;
    if (!result) {
        printer.least = (uint64_t)((double)printer.moved[0] * options->least_percent / 100);
        print_tree(out, view, options, &printer);
    }
    free(printer.moved);
    return result;
}

int hs_compare__tree(FILE *out, const struct hs_dump_view *view, const struct hs_compare_options *options)
{
    struct hs_totals sides;
    struct hs_call_tree tree;
    int result = take_sides(&sides, &view->subject.totals, options->cost);
    if (!result)
        result = options->by_line
                     ? hs_call_tree__build_lines(&tree, view->subject.symbols, &sides, HS_COST_LIVE, 0)
                     : hs_call_tree__build(&tree, view->subject.symbols, &sides, HS_COST_LIVE, HS_TREE_BY_BYTES);
    if (!result) {
        result = sort_and_print(out, view, options, &tree);
        hs_call_tree__free(&tree);
    }
    free(sides.total);
    return result;
}
