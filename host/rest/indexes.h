// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Indexes make answers fast: sums and sorted lists of a store. A thread makes one after another as soon as the store is
// served. Until an index exists, queries work without it.
#ifndef HEAPSONDE_HOST_REST_INDEXES_H
#define HEAPSONDE_HOST_REST_INDEXES_H

#include "host/query/event_log.h"
#include "host/query/rank_counts.h"
#include "host/query/rollups.h"
#include "host/query/sorted_index.h"

struct hs_indexes;

// NULL: the store has too many rows or is still growing, or out of memory. The store and the context must outlive it.
// The thread calls `first` before it makes indexes; `first` has to return when `*cancel` becomes nonzero.
struct hs_indexes *hs_indexes__start(const struct hs_store *store, void (*first)(void *context, const int *cancel),
                                     void *context);
void hs_indexes__stop(struct hs_indexes *indexes);

// NULL: not available (yet). An available index stays until the stop.
const struct hs_rollups *hs_indexes__rollups(const struct hs_indexes *indexes);
const struct hs_dictionary *hs_indexes__dictionary(const struct hs_indexes *indexes);
const struct hs_event_log *hs_indexes__events(const struct hs_indexes *indexes);
const struct hs_sorted_index *hs_indexes__sorted_index(const struct hs_indexes *indexes, enum hs_row_key key);
const struct hs_rank_counts *hs_indexes__rank_counts(const struct hs_indexes *indexes, enum hs_row_key key);

// Allows the kernel to drop the pages of the indexes.
void hs_indexes__drop_pages(const struct hs_indexes *indexes);

#endif
