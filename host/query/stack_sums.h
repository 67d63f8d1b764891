// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The sums of rows by stack, in one pass over the columns. The memory depends on the number of stacks that occur.
#ifndef HEAPSONDE_QUERY_STACK_SUMS_H
#define HEAPSONDE_QUERY_STACK_SUMS_H

#include "host/query/match.h"
#include "host/query/query.h"

// Two cache lines.
struct hs_stack_sum {
    uint64_t allocated_bytes, allocated_slack;
    uint64_t live_bytes, live_slack;
    uint64_t peak_bytes, peak_slack;
    uint64_t temporary_bytes;
    uint64_t lifetime_sum;
    uint64_t size_min, size_max;
    uint64_t first_time, last_time;
    uint64_t lifetime_min, lifetime_max;
    uint32_t allocated_count, live_count, peak_count, temporary_count;
};

struct hs_stack_sums {
    uint32_t *place; // by stack: place in `sum`; 0: none
    size_t stacks;
    struct hs_stack_sum *sum; // by first appearance; 0 is not used
    size_t count;
};

// Makes empty sums with room for `most` different stacks. Returns 0 or -ENOMEM.
int hs_stack_sums__start(struct hs_stack_sums *sums, const struct hs_store *store, uint64_t most);
// Adds the matching rows of the matcher's block. Stacks that the store does not have count as the empty one.
void hs_stack_sums__add(struct hs_stack_sums *sums, struct hs_matcher *matcher);
// Adds the heap rows from `first`, where a block begins, up to `end`. Returns 0 or -ENOMEM.
int hs_stack_sums__create(struct hs_stack_sums *sums, const struct hs_store *store, uint64_t first, uint64_t end);
void hs_stack_sums__free(struct hs_stack_sums *sums);

// Prefetches the totals of a stack.
static inline void hs_stack_sums__fetch(const struct hs_stack_sums *sums, size_t stack)
{
    const char *sum = (const char *)&sums->sum[sums->place[stack]];
    __builtin_prefetch(sum);
    __builtin_prefetch(sum + 64);
}
// The totals of a stack that has a place.
void hs_stack_sums__total(const struct hs_stack_sums *sums, uint32_t stack, struct hs_total *total);

#endif
