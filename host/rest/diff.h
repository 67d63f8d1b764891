// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What /diff and /diff_tree have in common.
#ifndef HEAPSONDE_HOST_REST_DIFF_H
#define HEAPSONDE_HOST_REST_DIFF_H

#include "host/report/frame_key.h"
#include "host/rest/question.h"

// Which blocks are compared, and with which others.
#define HS_DIFF_PARAMETERS                                                                                             \
    {.name = "base", .kind = HS_REST_TEXT, .help = "the id of the trace to compare with; default this trace"},         \
        {.name = "base_at",                                                                                            \
         .kind = HS_REST_INSTANT,                                                                                      \
         .help = "compare with the blocks that were live at this instant of that trace, as in 'at'"},                  \
        {.name = "base_from",                                                                                          \
         .kind = HS_REST_TIME,                                                                                         \
         .help = "compare with the blocks that were allocated at this time or later; with base_from or base_to, from " \
                 "and to are only for the blocks that are compared, else for both"},                                   \
        {.name = "base_to",                                                                                            \
         .kind = HS_REST_TIME,                                                                                         \
         .help = "compare with the blocks that were allocated at this time or earlier"},                               \
    {                                                                                                                  \
        .name = "cost", .kind = HS_REST_CHOICE, .choices = HS_COST_CHOICES, .default_value = "allocated",              \
        .help = "which of the blocks of both sides are added up: all, those that are still live, those that were "     \
                "live at the peak, or temporary ones"                                                                  \
    }

// -EINVAL: a range of the question or of the base ends before it begins.
int hs_diff__check_ranges(struct hs_question *question, const struct hs_rest_state *base);

// What is compared. -EINVAL: `base` does not know this cost, or the question's trace does not.
int hs_diff__cost(struct hs_question *question, const struct hs_rest_state *base, enum hs_cost *cost);

// The totals of the base, which is a state (its trace may be another one); hs_question__base_filter says which blocks.
// 0 or a negative errno with the question's error set; -ENOTSUP says whether the base is what has only sums.
int hs_diff__base(struct hs_question *question, const struct hs_rest_state *state, struct hs_stack_totals *totals);

// The source of the frames of `state`, when it is compared with `other`.
struct hs_frame_source hs_diff__source(const struct hs_rest_state *state, const struct hs_rest_state *other);

#endif
