// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/stack_totals_make.h"

#include "host/query/scan.h"
#include "host/query/stack_sums.h"

#include <pthread.h>
#include <stdlib.h>

// Adds the culled sums to those of the rows.
static int write_with_culled(const struct hs_store *store, struct hs_stack_totals_writer *writer)
{
    struct hs_totals totals;
    int failed = hs_query__totals(store, NULL, NULL, &totals, NULL);
    if (failed)
        return failed;
    for (size_t i = 0; i < totals.count; i++)
        hs_stack_totals_writer__add(writer, &totals.total[i]);
    hs_totals__free(&totals);
    return 0;
}

// A half of the rows, which is added up on a thread of its own.
struct half {
    const struct hs_store *store;
    uint64_t first, end;
    struct hs_stack_sums sums;
    int failed;
};

static void *add_half(void *argument)
{
    struct half *half = argument;
    half->failed = hs_stack_sums__create(&half->sums, half->store, half->first, half->end);
    return NULL;
}

static int add_halves(const struct hs_store *store, struct half *half)
{
    pthread_t thread;
    uint64_t rows = hs_store__columns(store)->rows, middle = rows / 2 / HS_PACKED_BLOCK * HS_PACKED_BLOCK;
    half[0] = (struct half){.store = store, .end = middle};
    half[1] = (struct half){.store = store, .first = middle, .end = rows};
    bool threaded = middle && !pthread_create(&thread, NULL, add_half, &half[0]);
    add_half(&half[1]);
    if (threaded)
        pthread_join(thread, NULL);
    else
        add_half(&half[0]);
    return half[0].failed ? half[0].failed : half[1].failed;
}

static void write_stack(struct hs_stack_totals_writer *writer, const struct half *half, uint32_t stack)
{
    struct hs_total total, other;
    bool first = half[0].sums.place[stack], second = half[1].sums.place[stack];
    if (!first && !second)
        return;
    hs_stack_sums__total(&half[!first].sums, stack, &total);
    if (first && second) {
        hs_stack_sums__total(&half[1].sums, stack, &other);
        hs_total__add(&total, &other);
    }
    hs_stack_totals_writer__add(writer, &total);
}

// Sums lie in the order in which stacks came first: they are fetched some stacks before they are needed.
#define STACKS_AHEAD 16

static int write_rows(const struct hs_store *store, struct hs_stack_totals_writer *writer)
{
    struct half half[2];
    int failed = add_halves(store, half);
    const size_t stacks = failed ? 0 : half[0].sums.stacks;
    for (size_t stack = 0; stack < stacks; stack++) {
        const size_t ahead = stack + STACKS_AHEAD < stacks ? stack + STACKS_AHEAD : stack;
        hs_stack_sums__fetch(&half[0].sums, ahead);
        hs_stack_sums__fetch(&half[1].sums, ahead);
        write_stack(writer, half, (uint32_t)stack);
    }
    hs_stack_sums__free(&half[0].sums);
    hs_stack_sums__free(&half[1].sums);
    return failed;
}

int hs_stack_totals_column__write(const struct hs_store *store, int directory_fd)
{
    struct hs_stack_totals_writer writer;
    size_t culled;
    hs_store__culled(store, &culled);
    int failed = hs_stack_totals_writer__create(&writer, directory_fd);
    if (!failed)
        failed = culled ? write_with_culled(store, &writer) : write_rows(store, &writer);
    return hs_stack_totals_writer__finish(&writer, failed);
}

static int each_without_table(const struct hs_store *store, enum hs_total_key bytes, enum hs_total_key count,
                              hs_stack_value_visitor visit, void *context, struct hs_error *error)
{
    struct hs_totals totals;
    int result = hs_query__totals(store, NULL, NULL, &totals, error);
    for (size_t i = 0; i < totals.count && !result; i++)
        result = visit(context, totals.total[i].stack, hs_total__value(&totals.total[i], bytes),
                       hs_total__value(&totals.total[i], count));
    hs_totals__free(&totals);
    return result;
}

int hs_query__each_stack(const struct hs_store *store, enum hs_total_key bytes, enum hs_total_key count,
                         hs_stack_value_visitor visit, void *context, struct hs_error *error)
{
    const struct hs_packed *table = hs_store__totals(store);
    const struct hs_set all = {0};
    return table ? hs_stack_totals_column__each(table, &all, bytes, count, visit, context)
                 : each_without_table(store, bytes, count, visit, context, error);
}
