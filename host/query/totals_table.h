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

#endif
