// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The functions of the table of endpoints, family by family, and what the families share.
#ifndef HEAPSONDE_HOST_REST_ANSWERS_H
#define HEAPSONDE_HOST_REST_ANSWERS_H

#include "host/rest/question.h"

typedef int hs_prepare_function(struct hs_question *question);
typedef int hs_answer_function(struct hs_question *question, FILE *out);

// list.c, openapi.c
hs_answer_function hs_answer__list, hs_answer__openapi, hs_answer__overview;
// allocations.c
extern const struct hs_rest_parameter hs_allocations_parameters[];
hs_prepare_function hs_prepare__allocations;
hs_answer_function hs_answer__allocations, hs_answer__raw_allocations;
// groups.c
extern const struct hs_rest_parameter hs_groups_parameters[];
hs_prepare_function hs_prepare__groups;
hs_answer_function hs_answer__groups;
// backtraces.c
hs_prepare_function hs_prepare__backtrace, hs_prepare__backtraces;
hs_answer_function hs_answer__backtrace, hs_answer__backtraces;
// timelines.c
extern const struct hs_rest_parameter hs_timeline_parameters[];
hs_prepare_function hs_prepare__timeline, hs_prepare__timeline_leaked, hs_prepare__timeline_maps;
hs_answer_function hs_answer__timeline, hs_answer__timeline_maps;

// ---- what they share ------------------------------------------------------------------------------------------------

struct hs_stack_facts {
    size_t stacks; // that allocated
    uint32_t deepest;
};
void hs_stack_facts__of(const struct hs_rest_state *state, struct hs_stack_facts *facts);

// Where glibc's main arena is; empty when there is none. main_heap.c
struct hs_main_heap {
    uint64_t from, to;
};
void hs_main_heap__find(const struct hs_store *store, struct hs_main_heap *heap);
bool hs_main_heap__has(const struct hs_main_heap *heap, const struct hs_store *store, uint64_t row);

#endif
