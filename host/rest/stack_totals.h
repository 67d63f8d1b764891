// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The totals per stack of what a filter matches: a part of a table, or single totals. It does not own them.
#ifndef HEAPSONDE_HOST_REST_STACK_TOTALS_H
#define HEAPSONDE_HOST_REST_STACK_TOTALS_H

#include "host/query/stack_totals_column.h"

struct hs_stack_totals {
    const struct hs_packed *table; // NULL: use `totals`
    struct hs_set stacks;          // the selected stacks of the table; without words: all
    const struct hs_totals *totals;
};

size_t hs_stack_totals__count(const struct hs_stack_totals *stacks);
// False: no match with this stack.
bool hs_stack_totals__find(const struct hs_stack_totals *stacks, uint32_t stack, struct hs_total *total);
// In the order of stacks. 0, -ENOMEM, or the first nonzero result of `visit`, which ends the loop.
int hs_stack_totals__each(const struct hs_stack_totals *stacks, hs_total_visitor visit, void *context);
int hs_stack_totals__each_value(const struct hs_stack_totals *stacks, enum hs_total_key bytes, enum hs_total_key count,
                                hs_stack_value_visitor visit, void *context);

#endif
