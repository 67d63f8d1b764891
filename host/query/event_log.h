// SPDX-License-Identifier: MIT OR Apache-2.0
//
// All allocations and frees in the order of time, as the codes of their rows. Timelines and peaks of filters on
// properties of codes are exact sums along it. Within one instant, older blocks are freed first; then each row is
// allocated and, if its lifetime is zero, freed. It takes about three bytes for each event, in temporary files that are
// not visible to others.
#ifndef HEAPSONDE_QUERY_EVENT_LOG_H
#define HEAPSONDE_QUERY_EVENT_LOG_H

#include "host/query/dictionary.h"
#include "host/query/query.h"

struct hs_event_log;

// Takes about a second for ten million rows, on one thread. The dictionary must outlive the log.
int hs_event_log__make(struct hs_event_log **log, const struct hs_dictionary *dictionary,
                       const struct hs_query_control *control, struct hs_error *error);
void hs_event_log__destroy(struct hs_event_log *log);
uint64_t hs_event_log__bytes(const struct hs_event_log *log); // in memory, without files

// Whether the log can answer for this filter and is faster than a scan. If few rows match, a scan is faster.
bool hs_event_log__suits(const struct hs_event_log *log, const struct hs_store *store, const struct hs_filter *filter);

// Like hs_query__timeline, for a filter that the log supports. The caller sets `from`, `width` and the memory for the
// points.
int hs_event_log__timeline(const struct hs_event_log *log, const struct hs_filter *filter, uint64_t to,
                           const struct hs_query_control *control, struct hs_timeline *timeline,
                           struct hs_error *error);
// Like hs_query__peak.
int hs_event_log__peak(const struct hs_event_log *log, const struct hs_filter *filter,
                       const struct hs_query_control *control, struct hs_live_total *peak, uint64_t *time,
                       struct hs_error *error);

#endif
