// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The traces that are served. Each has a state: a store, its symbols, and data for filters. States are immutable. A
// trace that grows gets a new state; questions keep the state with which they began.
#ifndef HEAPSONDE_HOST_REST_TRACES_H
#define HEAPSONDE_HOST_REST_TRACES_H

#include "host/filter/filter.h"
#include "host/query/indexes.h"
#include "host/store/store.h"
#include "host/symbols/trace_symbols.h"

struct hs_rest_state {
    const struct hs_store *store;
    struct hs_trace_symbols *symbols;
    struct hs_filter_scope *scope;
    const struct hs_indexes *indexes;                 // NULL: none
    const char *path;                                 // of the trace
    const struct hs_symbols_options *symbols_options; // NULL: none were given
    char key[64];                                     // prefix of the cache keys of this state
};

// The number of allocations that pass through a return address, by node of the stack table.
uint64_t hs_rest_state__frame_count(const struct hs_rest_state *state, uint32_t node);
// Computes them if that was not done yet. Returns 0 or a negative errno.
int hs_rest_state__prepare_frame_counts(const struct hs_rest_state *state, struct hs_error *error);
// Facts about all stacks together, computed once.
struct hs_stack_facts {
    size_t stacks; // stacks that allocated
    uint32_t deepest;
};
void hs_rest_state__stack_facts(const struct hs_rest_state *state, struct hs_stack_facts *facts);
// Called after each answer: drops resident pages of files if there are many.
void hs_rest_state__trim(const struct hs_rest_state *state);
// The same regardless of their number. Other threads may be reading.
void hs_rest_state__drop_pages(const struct hs_rest_state *state);
bool hs_rest_state__grows(const struct hs_rest_state *state); // it is still being written, or its end is missing

struct hs_rest_trace;
struct hs_rest_traces;

// Whether the trace will grow: a process or `gather` still has the file or its folder open. A killed process does not.
bool hs_rest_trace__is_written(struct hs_rest_trace *trace, const struct hs_rest_state *state);

// `prepares`: make indexes as soon as a trace is open.
struct hs_rest_traces *hs_rest_traces__create(const struct hs_symbols_options *symbols, bool prepares);
void hs_rest_traces__destroy(struct hs_rest_traces *traces);

// Opens a trace and appends it. -EEXIST: there is already one with its id. Must not be called by two threads at once.
int hs_rest_traces__add(struct hs_rest_traces *traces, const char *path, const struct hs_query_control *progress,
                        struct hs_error *error);
size_t hs_rest_traces__count(struct hs_rest_traces *traces);
struct hs_rest_trace *hs_rest_traces__at(struct hs_rest_traces *traces, size_t number);
// Finds a trace by id (upper or lower case) or "last"; NULL: none.
struct hs_rest_trace *hs_rest_traces__find(struct hs_rest_traces *traces, const char *id);

const char *hs_rest_trace__id(const struct hs_rest_trace *trace);
const char *hs_rest_trace__path(const struct hs_rest_trace *trace);

// The current state; it is read again if the file has changed. Increments its reference count. -ESTALE: the trace was
// replaced or removed; the error says how.
int hs_rest_trace__hold(struct hs_rest_trace *trace, const struct hs_rest_state **state, struct hs_error *error);
// The last known state, even if the file has changed.
const struct hs_rest_state *hs_rest_trace__hold_last(struct hs_rest_trace *trace);
void hs_rest_state__release(const struct hs_rest_state *state);

// Whether everything that was read of the state was valid: files can be truncated while they are served. -ESTALE.
int hs_rest_trace__check(struct hs_rest_trace *trace, const struct hs_rest_state *state, struct hs_error *error);

#endif
