// SPDX-License-Identifier: MIT OR Apache-2.0
//
// explain=1: in place of an answer, what it was read from.
#ifndef HEAPSONDE_HOST_REST_EXPLAIN_H
#define HEAPSONDE_HOST_REST_EXPLAIN_H

#include "host/query/planner.h"
#include "host/rest/question.h"

// Whether the question asks for it.
bool hs_explain__is_wanted(const struct hs_question *question);
// Writes the answer to nowhere, because some questions are asked while that is done, and then the explanation.
int hs_explain__write(struct hs_question *question, const struct hs_explanation *explanation, FILE *out);

#endif
