// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What /diff and /diff_tree have in common.
#ifndef HEAPSONDE_HOST_REST_DIFF_H
#define HEAPSONDE_HOST_REST_DIFF_H

#include "host/report/frame_key.h"
#include "host/rest/question.h"

// The totals of the base, which is a state (its trace may be another one): the question's filter at the instant
// `base_at`. 0 or a negative errno with the question's error set.
int hs_diff__base(struct hs_question *question, const struct hs_rest_state *state, struct hs_stack_totals *totals);

// The source of the frames of `state`, when it is compared with `other`.
struct hs_frame_source hs_diff__source(const struct hs_rest_state *state, const struct hs_rest_state *other);

#endif
