// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The totals of all heap blocks by stack, kept in the store: the most frequent question is answered by reading them.
#ifndef HEAPSONDE_QUERY_STACK_TOTALS_COLUMN_H
#define HEAPSONDE_QUERY_STACK_TOTALS_COLUMN_H

#include "host/query/query.h"

// Writes totals into a table, a run at a time.
struct hs_stack_totals_writer {
    struct hs_packed_writer packed;
    uint64_t *fields; // of the run in progress
    size_t count;     // totals in it
};
int hs_stack_totals_writer__create(struct hs_stack_totals_writer *writer, int directory_fd); // 0 or a negative errno
int hs_stack_totals_writer__add(void *writer, const struct hs_total *total);           // in the order of stacks; 0
int hs_stack_totals_writer__finish(struct hs_stack_totals_writer *writer, int failed); // 0, `failed` or another errno

// The totals of a filter, as a table in a temporary file that is not visible to others; to be closed. The plan is that
// for its totals, without the store's table. 0, or a negative errno with the error set: -EIO if the file cannot be
// created.
struct hs_plan;
int hs_query__stack_totals_column(const struct hs_store *store, const struct hs_filter *filter,
                                  const struct hs_query_control *control, const struct hs_plan *plan,
                                  struct hs_packed *table, struct hs_error *error);

// The store's table if it answers the filter; else NULL.
const struct hs_packed *hs_stack_totals_column__for(const struct hs_store *store, const struct hs_filter *filter);

// The totals of the stacks of a set, or of all stacks if the set has no words. 0 or -ENOMEM.
int hs_stack_totals_column__read(const struct hs_packed *table, const struct hs_set *stacks, struct hs_totals *totals);

// Reads a table without the memory for all totals. Any thread may read.
size_t hs_stack_totals_column__count(const struct hs_packed *table); // of all stacks
// The totals of one stack. False: the table does not contain it.
bool hs_stack_totals_column__find(const struct hs_packed *table, uint32_t stack, struct hs_total *total);
// All totals of the stacks of a set, in the order of stacks. Returns 0, -ENOMEM, or the first nonzero result of
// `visit`, which ends it.
typedef int (*hs_total_visitor)(void *context, const struct hs_total *total);
int hs_stack_totals_column__each_total(const struct hs_packed *table, const struct hs_set *stacks,
                                       hs_total_visitor visit, void *context);
// Two numbers of each total of the stacks of a set (without words: of all), in the order of stacks. A nonzero result of
// `visit` ends it and is returned.
typedef int (*hs_stack_value_visitor)(void *context, uint32_t stack, uint64_t bytes, uint64_t count);
int hs_stack_totals_column__each(const struct hs_packed *table, const struct hs_set *stacks, enum hs_total_key bytes,
                                 enum hs_total_key count, hs_stack_value_visitor visit, void *context);

#endif
