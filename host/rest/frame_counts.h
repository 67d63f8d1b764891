// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The number of allocations that pass through each return address. A stack that contains an address several times
// counts once. There are few addresses, even if the stack table has many nodes.
#ifndef HEAPSONDE_HOST_REST_FRAME_COUNTS_H
#define HEAPSONDE_HOST_REST_FRAME_COUNTS_H

#include "host/store/store.h"

struct hs_frame_counts;

// Returns 0, or a negative errno with the error set; -ECANCELED when `*cancel` becomes nonzero (`cancel` may be NULL).
// The result does not change, so any thread may read it.
int hs_frame_counts__make(const struct hs_store *store, const int *cancel, struct hs_frame_counts **counts,
                          struct hs_error *error);
void hs_frame_counts__destroy(struct hs_frame_counts *counts);

// 0 if no stack contains the address.
uint64_t hs_frame_counts__of(const struct hs_frame_counts *counts, uint64_t pc);

#endif
