// SPDX-License-Identifier: MIT OR Apache-2.0
//
// All allocations and frees in the order of time, as the codes of their rows: exact timelines and peaks of what codes
// know are sums along it. At one instant what was there before is freed, then row after row is allocated and, when it
// lived no time, freed. It takes about three bytes for each event, in temporary files that nobody else sees.
#ifndef HEAPSONDE_QUERY_EVENT_LOG_H
#define HEAPSONDE_QUERY_EVENT_LOG_H

#include "host/query/dictionary.h"
#include "host/query/query.h"

struct hs_event_log;

// Takes a moment: a second for some ten million rows. One thread works at it. The dictionary must outlive it.
int hs_event_log__make(struct hs_event_log **log, const struct hs_dictionary *dictionary,
                       const struct hs_query_control *control, struct hs_error *error);
void hs_event_log__destroy(struct hs_event_log *log);

// Whether it can tell and is the quicker way: where little matches, looking for that is.
bool hs_event_log__suits(const struct hs_event_log *log, const struct hs_store *store, const struct hs_filter *filter);

// Of a filter that suits it, as hs_query__timeline; from, width and the points' room are given.
int hs_event_log__timeline(const struct hs_event_log *log, const struct hs_filter *filter, uint64_t to,
                           const struct hs_query_control *control, struct hs_timeline *timeline,
                           struct hs_error *error);
// As hs_query__peak.
int hs_event_log__peak(const struct hs_event_log *log, const struct hs_filter *filter,
                       const struct hs_query_control *control, struct hs_live_total *peak, uint64_t *time,
                       struct hs_error *error);

// Tests change them.
struct hs_event_log_limits {
    size_t there;   // numbers that are kept of what was there at times
    uint64_t share; // of the rows: one in so many has to match
    uint64_t vast;  // what has such sizes is not summed up along it: at most 2^40
};
extern struct hs_event_log_limits hs_event_log_limits;

#endif
