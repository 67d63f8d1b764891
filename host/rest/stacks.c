// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /cpu, /off_cpu, /faults, /touched, /touched_mappings: stacks by what the kernel sampled, the largest first.
#include "host/report/events.h"
#include "host/report/samples.h"
#include "host/rest/answers.h"
#include "host/rest/paging.h"
#include "host/rest/write.h"

#include <errno.h>
#include <stdlib.h>

struct stacks_work {
    const struct hs_totals *totals;
    uint32_t *order; // places in the totals
};

static void free_work(void *memory)
{
    struct stacks_work *work = memory;
    free(work->order);
    free(work);
}

static int compare(const void *left, const void *right, void *context)
{
    const struct hs_totals *totals = context;
    const struct hs_total *a = &totals->total[*(const uint32_t *)left], *b = &totals->total[*(const uint32_t *)right];
    if (a->allocated_bytes != b->allocated_bytes)
        return a->allocated_bytes > b->allocated_bytes ? -1 : 1;
    return (a->stack > b->stack) - (a->stack < b->stack);
}

int hs_prepare__stacks(struct hs_question *question)
{
    struct stacks_work *work = calloc(1, sizeof(*work));
    if (!work)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    question->work = work;
    question->free_work = free_work;
    int result = hs_question__totals(question, &work->totals);
    if (result)
        return result;
    work->order = calloc(work->totals->count + 1, sizeof(*work->order));
    if (!work->order)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    for (size_t i = 0; i < work->totals->count; i++)
        work->order[i] = (uint32_t)i;
    qsort_r(work->order, work->totals->count, sizeof(*work->order), compare, (void *)(uintptr_t)work->totals);
    return hs_rest_state__prepare_frame_counts(question->state, &question->error);
}

static void write_stack(struct hs_json *json, const struct hs_question *question, const struct hs_total *total)
{
    hs_json__open_object(json, NULL);
    hs_report__events_json(json, question->events, total);
    hs_json__number(json, "backtrace_id", total->stack);
    hs_write__backtrace(json, "backtrace", question, total->stack);
    hs_json__close_object(json);
}

int hs_answer__stacks(struct hs_question *question, FILE *out)
{
    const struct stacks_work *work = question->work;
    struct hs_paging paging = hs_paging__start(question, out, work->totals->count);
    struct hs_json json;
    uint64_t i;
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    hs_report__events_json(&json, question->events, &work->totals->sum);
    hs_json__number(&json, "total_count", work->totals->count);
    hs_json__open_array(&json, "stacks");
    while (hs_paging__next(&paging, &i))
        write_stack(&json, question, &work->totals->total[work->order[i]]);
    hs_json__close_array(&json);
    hs_paging__end(&paging, &json);
    hs_json__close_object(&json);
    return ferror(out) ? -EPIPE : 0;
}
