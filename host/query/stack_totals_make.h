// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Makes the totals of a whole store by stack, keeps them in the store, and reads them.
#ifndef HEAPSONDE_QUERY_STACK_TOTALS_MAKE_H
#define HEAPSONDE_QUERY_STACK_TOTALS_MAKE_H

#include "host/query/stack_totals_column.h"

// Computes the totals and writes them into the directory of the store.
int hs_stack_totals_column__write(const struct hs_store *store, int directory_fd);

// Two numbers of each total of the heap of a store, whether it has a table or not, in the order of stacks. A nonzero
// result of `visit` ends it and is returned; or a negative errno with the error set.
int hs_query__each_stack(const struct hs_store *store, enum hs_total_key bytes, enum hs_total_key count,
                         hs_stack_value_visitor visit, void *context, struct hs_error *error);

#endif
