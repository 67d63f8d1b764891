// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/parts.h"

#include "host/base/search.h"
#include "host/query/match.h"
#include "host/query/scan.h"

#include <errno.h>
#include <stdlib.h>

struct parts_worker {
    struct hs_matcher *matcher;
    struct hs_part *part; // live_*: changes within the part, modulo 2^64
    size_t last;          // the part that was found last
};

struct parts_context {
    const struct hs_parts_question *question;
    struct parts_worker *worker;
    unsigned workers;
};

// The part that a time lies in; their number: none. Rows come in the order of time.
static size_t part_of(const struct parts_context *context, size_t near, uint64_t time)
{
    const uint64_t *until = context->question->until;
    const size_t parts = context->question->parts;
    if (near < parts && time <= until[near] && (!near || time > until[near - 1]))
        return near;
    return HS_SEARCH(parts, i, until[i] < time);
}

static void add_row(const struct parts_context *context, struct parts_worker *worker, struct hs_part *group,
                    uint64_t time, uint64_t freed, uint64_t size)
{
    const size_t parts = context->question->parts;
    worker->last = part_of(context, worker->last, time);
    if (worker->last == parts)
        return;
    struct hs_part *part = &group[worker->last];
    part->allocated_bytes += size;
    part->allocated_count++;
    part->kept_bytes += freed == HS_NEVER ? size : 0;
    part->kept_count += freed == HS_NEVER;
    const size_t end = freed == HS_NEVER ? parts : part_of(context, worker->last, freed);
    if (end == worker->last)
        return;
    part->live_bytes += size;
    part->live_count++;
    if (end < parts) {
        group[end].live_bytes -= size;
        group[end].live_count--;
    }
}

static int add_rows(void *argument, unsigned number, uint64_t first, uint64_t end)
{
    const struct parts_context *context = argument;
    const struct hs_parts_question *question = context->question;
    struct parts_worker *worker = &context->worker[number];
    struct hs_matcher *matcher = worker->matcher;
    for (uint64_t row = first; row < end; row += HS_PACKED_BLOCK) {
        const size_t count = hs_matcher__match(matcher, row / HS_PACKED_BLOCK);
        if (!count)
            continue;
        const uint64_t *stack = hs_column_block__column(&matcher->block, HS_BLOCK_STACK);
        const uint64_t *time = hs_column_block__column(&matcher->block, HS_BLOCK_TIME);
        const uint64_t *freed = hs_column_block__column(&matcher->block, HS_BLOCK_FREE_TIME);
        const uint64_t *size = hs_column_block__column(&matcher->block, HS_BLOCK_SIZE);
        for (size_t n = 0; n < count; n++) {
            const size_t i = matcher->place[n];
            const uint32_t group = stack[i] < question->stacks ? question->group_of[stack[i]] : 0;
            if (group)
                add_row(context, worker, &worker->part[(group - 1) * question->parts], time[i], freed[i], size[i]);
        }
    }
    return 0;
}

static int start(struct parts_context *context, const struct hs_store *store, const struct hs_filter *filter)
{
    const struct hs_parts_question *question = context->question;
    context->worker = calloc(context->workers, sizeof(*context->worker));
    for (unsigned i = 0; context->worker && i < context->workers; i++) {
        context->worker[i].matcher = hs_matcher__create(store, filter);
        context->worker[i].part = calloc(question->groups * question->parts + 1, sizeof(struct hs_part));
        if (!context->worker[i].matcher || !context->worker[i].part)
            return -ENOMEM;
    }
    return context->worker ? 0 : -ENOMEM;
}

static void end(struct parts_context *context)
{
    for (unsigned i = 0; context->worker && i < context->workers; i++) {
        hs_matcher__destroy(context->worker[i].matcher);
        free(context->worker[i].part);
    }
    free(context->worker);
}

static void add_part(struct hs_part *to, const struct hs_part *from)
{
    to->live_bytes += from->live_bytes;
    to->live_count += from->live_count;
    to->allocated_bytes += from->allocated_bytes;
    to->allocated_count += from->allocated_count;
    to->kept_bytes += from->kept_bytes;
    to->kept_count += from->kept_count;
}

// What the workers found, with live memory in place of its changes.
static void join(const struct parts_context *context, struct hs_parts *parts)
{
    for (unsigned k = 0; k < context->workers; k++)
        for (size_t i = 0; i < parts->groups * parts->parts; i++)
            add_part(&parts->part[i], &context->worker[k].part[i]);
    for (size_t i = 0; i < parts->groups * parts->parts; i++) {
        if (i % parts->parts == 0)
            continue;
        parts->part[i].live_bytes += parts->part[i - 1].live_bytes;
        parts->part[i].live_count += parts->part[i - 1].live_count;
    }
}

int hs_query__parts(const struct hs_store *store, const struct hs_parts_question *question,
                    const struct hs_query_control *control, struct hs_parts *parts, struct hs_error *error)
{
    struct hs_filter heap;
    const struct hs_filter *filter = hs_filter__or_heap(question->filter, &heap);
    struct parts_context context = {.question = question, .workers = hs_scan__workers(store, control)};
    *parts = (struct hs_parts){.groups = question->groups, .parts = question->parts};
    if (hs_store__summary(store)->is_aggregate)
        return hs_query__refuse_aggregate(error);
    parts->part = calloc(question->groups * question->parts + 1, sizeof(*parts->part));
    int result = parts->part && !start(&context, store, filter)
                     ? 0
                     : hs_error__set(error, ENOMEM, "query: out of memory; a narrower filter needs less");
    const struct hs_scan scan = {store, filter, control, context.workers, add_rows, &context, false, 0};
    if (!result)
        result = hs_scan__run(&scan, error);
    if (!result)
        join(&context, parts);
    end(&context);
    if (result)
        hs_parts__free(parts);
    return result;
}

void hs_parts__free(struct hs_parts *parts)
{
    free(parts->part);
    *parts = (struct hs_parts){0};
}
