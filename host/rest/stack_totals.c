// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/stack_totals.h"

#include <stdlib.h>

static int count_stack(void *context, uint32_t stack, uint64_t bytes, uint64_t blocks)
{
    size_t *count = context;
    (void)stack;
    (void)bytes;
    (void)blocks;
    ++*count;
    return 0;
}

size_t hs_stack_totals__count(const struct hs_stack_totals *stacks)
{
    size_t count = 0;
    if (!stacks->table)
        return stacks->totals->count;
    if (!stacks->stacks.words)
        return hs_stack_totals_column__count(stacks->table);
    hs_stack_totals_column__each(stacks->table, &stacks->stacks, HS_TOTAL_STACK, HS_TOTAL_STACK, count_stack, &count);
    return count;
}

static int compare_stack(const void *key, const void *element)
{
    const uint32_t stack = *(const uint32_t *)key, other = ((const struct hs_total *)element)->stack;
    return (stack > other) - (stack < other);
}

bool hs_stack_totals__find(const struct hs_stack_totals *stacks, uint32_t stack, struct hs_total *total)
{
    if (stacks->table)
        return (!stacks->stacks.words || hs_set__has(&stacks->stacks, stack)) &&
               hs_stack_totals_column__find(stacks->table, stack, total);
    const struct hs_totals *totals = stacks->totals;
    const struct hs_total *found =
        totals->count ? bsearch(&stack, totals->total, totals->count, sizeof(*found), compare_stack) : NULL;
    if (found)
        *total = *found;
    return found;
}

int hs_stack_totals__each(const struct hs_stack_totals *stacks, hs_total_visitor visit, void *context)
{
    int result = 0;
    if (stacks->table)
        return hs_stack_totals_column__each_total(stacks->table, &stacks->stacks, visit, context);
    for (size_t i = 0; i < stacks->totals->count && !result; i++)
        result = visit(context, &stacks->totals->total[i]);
    return result;
}

int hs_stack_totals__each_value(const struct hs_stack_totals *stacks, enum hs_total_key bytes, enum hs_total_key count,
                                hs_stack_value_visitor visit, void *context)
{
    int result = 0;
    if (stacks->table)
        return hs_stack_totals_column__each(stacks->table, &stacks->stacks, bytes, count, visit, context);
    for (size_t i = 0; i < stacks->totals->count && !result; i++) {
        const struct hs_total *total = &stacks->totals->total[i];
        result = visit(context, total->stack, hs_total__value(total, bytes), hs_total__value(total, count));
    }
    return result;
}
