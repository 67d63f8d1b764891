// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What /diff and /diff_tree have in common.
#ifndef HEAPSONDE_HOST_REST_DIFF_H
#define HEAPSONDE_HOST_REST_DIFF_H

#include "host/report/frame_key.h"
#include "host/rest/question.h"

// The totals of what the question compares with: those of its filter at `base_at`, of this state. 0 or a negative errno
// with the question's error set.
int hs_diff__base(struct hs_question *question, const struct hs_rest_state *state, struct hs_stack_totals *totals);

// Where the frames of a state come from that is compared with the other one.
struct hs_frame_source hs_diff__source(const struct hs_rest_state *state, const struct hs_rest_state *other);

#endif
