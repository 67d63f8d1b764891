// SPDX-License-Identifier: MIT OR Apache-2.0
//
// How many allocations of a trace pass through each return address.
#ifndef HEAPSONDE_HOST_REST_FRAME_COUNTS_H
#define HEAPSONDE_HOST_REST_FRAME_COUNTS_H

#include "host/store/store.h"

// By node of the stack table: the allocations whose stack has the node's return address in it. A stack that passes it
// several times counts once. *counts is the caller's to free.
int hs_frame_counts__make(const struct hs_store *store, uint64_t **counts, struct hs_error *error);

#endif
