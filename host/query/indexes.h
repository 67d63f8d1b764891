// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The indexes of a served trace. A thread makes one after another. Until an index exists, questions are answered
// without it. host/query/planner.h decides which of them answers a question.
#ifndef HEAPSONDE_QUERY_INDEXES_H
#define HEAPSONDE_QUERY_INDEXES_H

#include "host/query/event_log.h"
#include "host/query/rank_counts.h"
#include "host/query/rollups.h"
#include "host/query/sorted_index.h"

// NULL: not available (yet). Each is set in one piece, and stays until the stop. All threads except the one that makes
// them read them with hs_index__load.
struct hs_indexes {
    const struct hs_store *store;
    struct hs_rollups *rollups;
    struct hs_dictionary *dictionary;
    struct hs_event_log *events;
    struct hs_sorted_index *sorted_index[HS_ROW_BY_LIFETIME + 1];
    struct hs_rank_counts *rank_counts[HS_ROW_BY_LIFETIME + 1];
};
#define hs_index__load(index) __atomic_load_n(&(index), __ATOMIC_ACQUIRE)

// NULL: the store has too many rows or is still growing, or out of memory. The store and the context must outlive it.
// The thread calls `first` before it makes indexes; `first` has to return when `*cancel` becomes nonzero.
struct hs_indexes *hs_indexes__start(const struct hs_store *store, void (*first)(void *context, const int *cancel),
                                     void *context);
void hs_indexes__stop(struct hs_indexes *indexes); // of those that were started
// What they take in memory at this time, without files.
uint64_t hs_indexes__bytes(const struct hs_indexes *indexes);

// How many of the steps of making them are done. NULL: 0 of 0.
struct hs_indexes_progress {
    unsigned done, total;
};
struct hs_indexes_progress hs_indexes__progress(const struct hs_indexes *indexes);

// Limits for the indexes of all stores together. No further index is begun while those of other stores take more than
// `bytes`, or while `at_once` are being made. Tests change them.
struct hs_indexes_limits {
    uint64_t bytes;
    unsigned at_once;
};
extern struct hs_indexes_limits hs_indexes_limits;

// Allows the kernel to drop the pages of the indexes.
void hs_indexes__drop_pages(const struct hs_indexes *indexes);

#endif
