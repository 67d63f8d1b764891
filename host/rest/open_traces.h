// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The traces that are open, by their last use. Those that no question uses are closed if there are many, and opened
// again by the next question.
#ifndef HEAPSONDE_HOST_REST_OPEN_TRACES_H
#define HEAPSONDE_HOST_REST_OPEN_TRACES_H

#include "host/rest/cache.h"
#include "host/rest/trace.h"

// Traces that no question uses are closed, the least recently used one first, while more than this is open. A trace
// that is larger than this alone is the first; while it is in use, it closes no others. Tests change it.
struct hs_rest_traces_limits {
    size_t open;
    uint64_t bytes; // of debug information and indexes in memory
    uint64_t read;  // bytes of files that grew and are read for one list
    uint64_t wait;  // ns that one list waits for larger ones
};
extern struct hs_rest_traces_limits hs_rest_traces_limits;

struct hs_open_traces {
    pthread_mutex_t lock; // of the rest; taken before those of a trace, unless that is only tried
    struct hs_rest_trace *oldest, *newest;
    size_t count;
    struct hs_cache *cache; // values of a state are removed from it when the state is closed
};

size_t hs_open_traces__count(struct hs_open_traces *traces);
// A use of the trace: it becomes the newest.
void hs_open_traces__use(struct hs_rest_trace *trace);
// Adds a trace that was opened to read it again, not for a question: it becomes the oldest. The caller holds its lock
// `reading`.
void hs_open_traces__add(struct hs_rest_trace *trace);
void hs_open_traces__close_idle(struct hs_open_traces *traces);

// The current state; it is read again if the file has changed or was closed. Increments its reference count. -ESTALE:
// the trace was replaced or removed; the error says how.
int hs_rest_trace__hold(struct hs_rest_trace *trace, const struct hs_rest_state **state, struct hs_error *error);
void hs_rest_state__release(const struct hs_rest_state *state);

#endif
