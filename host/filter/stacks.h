// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Private to host/filter: what is asked of stacks, as the set of those that match.
#ifndef HEAPSONDE_FILTER_STACKS_H
#define HEAPSONDE_FILTER_STACKS_H

#include "host/filter/given.h"
#include "host/filter/scope.h"

struct hs_stack_question {
    const struct hs_filter_parameters *parameters;
    struct hs_filter_scope *scope;
    const struct hs_query_control *control;
    size_t stacks;
    uint64_t *words; // the set, all stacks at first; NULL: nothing was asked of stacks
};

// Conditions on frames, depths and numbers. Each returns 0 or a negative errno and narrows the set.
int hs_stack_question__ask_frames(struct hs_stack_question *question, struct hs_error *error);
int hs_stack_question__ask_number(struct hs_stack_question *question, struct hs_error *error);

// Conditions on groups. `time_of` gives the trace's time of a time point.
typedef uint64_t (*hs_time_of)(const void *context, const struct hs_given_parameter *given);
int hs_stack_question__ask_groups(struct hs_stack_question *question, hs_time_of time_of, const void *context,
                                  struct hs_error *error);

// All stacks for a start, when there is no set yet.
int hs_stack_question__begin(struct hs_stack_question *question, struct hs_error *error);
static inline void hs_stack_question__remove(struct hs_stack_question *question, size_t stack)
{
    question->words[stack / 64] &= ~((uint64_t)1 << (stack % 64));
}

#endif
