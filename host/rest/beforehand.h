// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What makes answers fast: sums and sorted lists of a store, which a thread of their own makes one after another as
// soon as the store is served. Until something is there, questions do without.
#ifndef HEAPSONDE_HOST_REST_BEFOREHAND_H
#define HEAPSONDE_HOST_REST_BEFOREHAND_H

#include "host/query/cells.h"
#include "host/query/event_log.h"
#include "host/query/ranking.h"
#include "host/query/tally.h"

struct hs_beforehand;

// NULL: the store has too many rows or still grows, or memory is out. The store and the context must outlive it.
// `first` is called on the thread before everything else, and ends when `*cancel` becomes another value than 0.
struct hs_beforehand *hs_beforehand__start(const struct hs_store *store,
                                           void (*first)(void *context, const int *cancel), void *context);
void hs_beforehand__stop(struct hs_beforehand *beforehand);

// NULL: not there (yet). What is there stays until the stop.
const struct hs_cells *hs_beforehand__cells(const struct hs_beforehand *beforehand);
const struct hs_dictionary *hs_beforehand__dictionary(const struct hs_beforehand *beforehand);
const struct hs_event_log *hs_beforehand__events(const struct hs_beforehand *beforehand);
const struct hs_ranking *hs_beforehand__ranking(const struct hs_beforehand *beforehand, enum hs_row_key key);
const struct hs_tally *hs_beforehand__tally(const struct hs_beforehand *beforehand, enum hs_row_key key);

// The pages of what is there do not have to stay resident.
void hs_beforehand__leave(const struct hs_beforehand *beforehand);

#endif
