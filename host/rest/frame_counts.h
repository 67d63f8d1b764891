// SPDX-License-Identifier: MIT OR Apache-2.0
//
// How many allocations of a trace pass through each return address. A stack that passes it several times counts once.
// Addresses are few, however many nodes of the stack table have them.
#ifndef HEAPSONDE_HOST_REST_FRAME_COUNTS_H
#define HEAPSONDE_HOST_REST_FRAME_COUNTS_H

#include "host/store/store.h"

struct hs_frame_counts;

// Returns 0 or a negative errno with the error set; -ECANCELED when `*cancel` becomes another value than 0 (NULL: it
// does not). They do not change: any thread may read them.
int hs_frame_counts__make(const struct hs_store *store, const int *cancel, struct hs_frame_counts **counts,
                          struct hs_error *error);
void hs_frame_counts__destroy(struct hs_frame_counts *counts);

// 0 of an address that no stack has.
uint64_t hs_frame_counts__of(const struct hs_frame_counts *counts, uint64_t pc);

#endif
