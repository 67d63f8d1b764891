// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The traces that are served. A trace that grows gets a new state; questions keep the state with which they began.
#ifndef HEAPSONDE_HOST_REST_TRACES_H
#define HEAPSONDE_HOST_REST_TRACES_H

#include "host/rest/list_reading.h"
#include "host/rest/open_traces.h"

struct hs_rest_traces;

// `prepares`: make indexes as soon as a trace is open. The values of a state that is closed leave the cache, which must
// outlive all questions.
struct hs_rest_traces *hs_rest_traces__create(const struct hs_symbols_options *symbols, bool prepares,
                                              struct hs_cache *cache);
// Traces that are being read again are given up, soon.
void hs_rest_traces__cancel(struct hs_rest_traces *traces);
// Gives up what is read in the background, which uses the cache: before that is destroyed.
void hs_rest_traces__stop(struct hs_rest_traces *traces);
void hs_rest_traces__destroy(struct hs_rest_traces *traces);

// Opens a trace and appends it. -EEXIST: there is already one with its id. Must not be called by two threads at once.
int hs_rest_traces__add(struct hs_rest_traces *traces, const char *path, const struct hs_query_control *progress,
                        struct hs_error *error);
size_t hs_rest_traces__open(struct hs_rest_traces *traces); // how many are open
size_t hs_rest_traces__count(struct hs_rest_traces *traces);
struct hs_rest_trace *hs_rest_traces__at(struct hs_rest_traces *traces, size_t number);
// Finds a trace by id (upper or lower case) or "last"; NULL: none.
struct hs_rest_trace *hs_rest_traces__find(struct hs_rest_traces *traces, const char *id);

#endif
