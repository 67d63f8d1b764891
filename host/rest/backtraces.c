// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /backtraces and /backtrace/N.
#include "host/rest/answers.h"
#include "host/rest/paging.h"
#include "host/rest/write.h"

#include <errno.h>
#include <stdlib.h>

int hs_prepare__backtrace(struct hs_question *question)
{
    const char *text = question->value[1];
    char *end;
    size_t count = 0;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    hs_store__nodes(question->store, &count);
    if (*text < '0' || *text > '9' || *end || errno || number >= count)
        return hs_error__set(&question->error, ENOENT, "there is no backtrace '%s'; their numbers are below %zu", text,
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
    struct hs_stack_totals *stacks = calloc(1, sizeof(*stacks));
    if (!stacks)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    question->work = stacks;
    question->free_work = free;
    int result = hs_question__stack_totals(question, stacks);
    return result ? result : hs_rest_state__prepare_frame_counts(question->state, &question->error);
}

struct backtraces_writing {
    const struct hs_question *question;
    struct hs_json *json;
    struct hs_paging paging;
    uint64_t skip; // remaining number of entries to skip
};

static int write_stack(void *context, uint32_t stack, uint64_t bytes, uint64_t blocks)
{
    struct backtraces_writing *writing = context;
    uint64_t place;
    (void)bytes;
    (void)blocks;
    if (writing->skip) {
        writing->skip--;
        return 0;
    }
    if (!hs_paging__next(&writing->paging, &place))
        return 1;
    hs_write__backtrace(writing->json, NULL, writing->question, stack);
    return 0;
}

int hs_answer__backtraces(struct hs_question *question, FILE *out)
{
    const struct hs_stack_totals *stacks = question->work;
    struct hs_json json;
    struct backtraces_writing writing = {.question = question,
                                         .json = &json,
                                         .paging = hs_paging__start(question, out, hs_stack_totals__count(stacks)),
                                         .skip = hs_question__number(question, "skip", 0)};
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    hs_json__open_array(&json, "backtraces");
    hs_stack_totals__each_value(stacks, HS_TOTAL_STACK, HS_TOTAL_STACK, write_stack, &writing);
    hs_json__close_array(&json);
    hs_json__number(&json, "total_count", writing.paging.total);
    hs_paging__end(&writing.paging, &json);
    hs_json__close_object(&json);
    return 0;
}
