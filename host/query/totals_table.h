// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The totals of all stacks in the heap, kept in the store: what is asked for most is then read and not added up.
#ifndef HEAPSONDE_QUERY_TOTALS_TABLE_H
#define HEAPSONDE_QUERY_TOTALS_TABLE_H

#include "host/query/query.h"

// Adds them up and writes them into the directory of the store.
int hs_totals__write_table(const struct hs_store *store, int directory_fd);

// Those of the stacks of a set; without words, of all. -ENOENT when the store has none.
int hs_totals__read_table(const struct hs_store *store, const struct hs_set *stacks, struct hs_totals *totals);

// What a table says without the memory that totals take. Any thread may read.
size_t hs_totals_table__count(const struct hs_packed *table); // of stacks
// Of one stack. False: the table does not have it.
bool hs_totals_table__find(const struct hs_packed *table, uint32_t stack, struct hs_total *total);
// Two numbers of each total of the stacks of a set (without words: of all), in the order of stacks. Any two keys but
// HS_TOTAL_STACK. Not 0 of `visit` ends it and is returned.
typedef int (*hs_stack_value_visitor)(void *context, uint32_t stack, uint64_t bytes, uint64_t count);
int hs_totals_table__each(const struct hs_packed *table, const struct hs_set *stacks, enum hs_total_key bytes,
                          enum hs_total_key count, hs_stack_value_visitor visit, void *context);

#endif
