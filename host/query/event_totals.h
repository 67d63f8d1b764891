// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What can be added up by stack besides allocations.
#ifndef HEAPSONDE_QUERY_EVENT_TOTALS_H
#define HEAPSONDE_QUERY_EVENT_TOTALS_H

#include "host/query/samples.h"

// Sums by stack. Their meaning in struct hs_total:
//
//   samples: allocated_bytes is their weight (ns, faults), allocated_count their number. Only the times, stacks and
//     threads of the filter apply. Samples without a stack have stack 0.
//
//   touched: *_bytes are touched bytes, *_usable requested bytes, *_count blocks; of all matching blocks (allocated_*)
//     and of those that are live at the end (live_*). The rest of a partially unmapped mapping counts only as live.
int hs_query__event_totals(const struct hs_store *store, enum hs_events events, const struct hs_filter *filter,
                           const struct hs_query_control *control, struct hs_totals *totals, struct hs_error *error);

#endif
