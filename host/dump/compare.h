// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The differences between two dumps by call site, made from a view of both after hs_dump_view__compare. Each function
// returns 0 or -ENOMEM.
#ifndef HEAPSONDE_HOST_DUMP_COMPARE_H
#define HEAPSONDE_HOST_DUMP_COMPARE_H

#include "host/dump/view.h"

#include <stdio.h>

struct hs_compare_options {
    enum hs_cost cost; // HS_COST_LIVE or HS_COST_ALLOCATED
    unsigned top;      // call sites that grew, and that shrank
    bool full_stacks;
    bool by_line;         // of the tree: a node for each line of a function
    double least_percent; // of the tree: changes below this share of all changes are left out
};

int hs_compare__text(FILE *out, const struct hs_dump_view *view, const struct hs_compare_options *options);
int hs_compare__json(FILE *out, const struct hs_dump_view *view, const struct hs_compare_options *options);
// "outermost;...;innermost BEFORE AFTER" for each stack that differs.
int hs_compare__collapsed(FILE *out, const struct hs_dump_view *view, const struct hs_compare_options *options);

// A tree of functions, callers above callees, with the largest changes first. compare_tree.c
int hs_compare__tree(FILE *out, const struct hs_dump_view *view, const struct hs_compare_options *options);

#endif
