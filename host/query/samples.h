// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Questions about what the kernel sampled.
#ifndef HEAPSONDE_QUERY_SAMPLES_H
#define HEAPSONDE_QUERY_SAMPLES_H

#include "host/query/query.h"

// The samples of one kind (HS_SAMPLE_*) by stack: allocated_bytes is their weight, allocated_count their number. Of the
// filter its times and stacks mean something. Samples without a stack are those of stack 0.
int hs_query__sample_totals(const struct hs_store *store, uint32_t kind, const struct hs_filter *filter,
                            struct hs_totals *totals, struct hs_error *error);

// Allocated against touched, by the stack that allocated. Touched are the bytes of a block on pages that a page fault
// made resident while it was there; pages that were so before count, too, but for a block that has a mapping of its
// own. peak_bytes is what was touched of all matching blocks, live_bytes of those live at the end, live_usable is what
// these asked for; allocated_* are as ever.
int hs_query__touched(const struct hs_store *store, const struct hs_filter *filter,
                      const struct hs_query_control *control, struct hs_totals *totals, struct hs_error *error);

#endif
