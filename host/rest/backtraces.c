// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /backtraces and /backtrace/N, and what is known of the stacks as a whole.
#include "host/rest/answers.h"
#include "host/rest/write.h"

#include <errno.h>
#include <stdlib.h>

// By node: whether allocations have it as their stack.
void hs_stack_facts__of(const struct hs_rest_state *state, struct hs_stack_facts *facts)
{
    struct hs_totals totals;
    size_t count = 0;
    hs_store__nodes(state->store, &count);
    *facts = (struct hs_stack_facts){0};
    uint32_t *depths = hs_store__depths(state->store);
    if (!depths || hs_query__totals(state->store, NULL, NULL, &totals, NULL)) {
        free(depths);
        return;
    }
    facts->stacks = totals.count;
    for (size_t i = 0; i < totals.count; i++) {
        uint32_t stack = totals.total[i].stack;
        if (stack < count && depths[stack] > facts->deepest)
            facts->deepest = depths[stack];
    }
    free(depths);
    hs_totals__free(&totals);
}

int hs_prepare__backtrace(struct hs_question *question)
{
    const char *text = question->value[1];
    char *end;
    size_t count = 0;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    hs_store__nodes(question->store, &count);
    if (*text < '0' || *text > '9' || *end || errno || number >= count)
        return hs_error__set(&question->error, ENOENT, "there is no backtrace '%s'; they are numbered below %zu", text,
                             count);
    return hs_rest_state__prepare_frame_counts(question->state, &question->error);
}

int hs_answer__backtrace(struct hs_question *question, FILE *out)
{
    struct hs_json json;
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    hs_write__backtrace(&json, "frames", question, (uint32_t)strtoull(question->value[1], NULL, 10));
    hs_json__close_object(&json);
    return 0;
}

int hs_prepare__backtraces(struct hs_question *question)
{
    const struct hs_totals *totals;
    int result = hs_question__totals(question, &totals);
    question->work = (void *)(uintptr_t)totals;
    return result ? result : hs_rest_state__prepare_frame_counts(question->state, &question->error);
}

int hs_answer__backtraces(struct hs_question *question, FILE *out)
{
    const struct hs_totals *totals = question->work;
    struct hs_json json;
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    hs_json__open_array(&json, "backtraces");
    for (size_t i = 0; i < totals->count && !ferror(out); i++)
        hs_write__backtrace(&json, NULL, question, totals->total[i].stack);
    hs_json__close_array(&json);
    hs_json__number(&json, "total_count", totals->count);
    hs_json__close_object(&json);
    return 0;
}
