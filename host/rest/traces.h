// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The traces that are served. Each has a state: a store, its symbols, and data for filters. States are immutable. A
// trace that grows gets a new state; questions keep the state with which they began. Traces that nobody uses are closed
// if there are many, and opened again by the next question.
#ifndef HEAPSONDE_HOST_REST_TRACES_H
#define HEAPSONDE_HOST_REST_TRACES_H

#include "host/filter/filter.h"
#include "host/query/indexes.h"
#include "host/rest/cache.h"
#include "host/rest/trace_facts.h"
#include "host/store/store.h"
#include "host/symbols/trace_symbols.h"

struct hs_dump_series;

struct hs_rest_state {
    const struct hs_store *store;
    struct hs_trace_symbols *symbols;
    struct hs_filter_scope *scope;
    const struct hs_indexes *indexes;                 // NULL: none
    const struct hs_dump_series *series;              // of heap dumps; NULL: a trace
    const char *path;                                 // of the trace
    const struct hs_symbols_options *symbols_options; // NULL: none were given
    char name[48]; // of the contents: the same for each state of a file that has not changed
    char key[64];  // prefix of the keys of cached values that refer to this state; begins with `name`
};

// The number of allocations that pass through a return address, by node of the stack table.
uint64_t hs_rest_state__frame_count(const struct hs_rest_state *state, uint32_t node);
// Computes them if that was not done yet. Returns 0 or a negative errno.
int hs_rest_state__prepare_frame_counts(const struct hs_rest_state *state, struct hs_error *error);
// Called after each answer: drops resident pages of files if there are many.
void hs_rest_state__trim(const struct hs_rest_state *state);
// The same regardless of their number. Other threads may be reading.
void hs_rest_state__drop_pages(const struct hs_rest_state *state);
bool hs_rest_state__grows(const struct hs_rest_state *state); // it is still being written, or its end is missing

struct hs_rest_trace;
struct hs_rest_traces;

// Whether the trace will grow: a process or `gather` still has the file or its folder open. A killed process does not.
// `grows`: what its state says.
bool hs_rest_trace__is_written(struct hs_rest_trace *trace, bool grows);

// Traces that no question uses are closed, the least recently used one first, while more than this is open. A trace
// that is larger than this alone is the first; while it is in use, it closes no others. Tests change it.
struct hs_rest_traces_limits {
    size_t open;
    uint64_t bytes; // of debug information and indexes in memory
    uint64_t read;  // bytes of files that grew and are read for one list
    uint64_t wait;  // ns that one list waits for larger ones
};
extern struct hs_rest_traces_limits hs_rest_traces_limits;

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

const char *hs_rest_trace__id(const struct hs_rest_trace *trace);
const char *hs_rest_trace__path(const struct hs_rest_trace *trace);

// The current state; it is read again if the file has changed or was closed. Increments its reference count. -ESTALE:
// the trace was replaced or removed; the error says how.
int hs_rest_trace__hold(struct hs_rest_trace *trace, const struct hs_rest_state **state, struct hs_error *error);
// What one list may still take for traces that grow.
struct hs_rest_patience {
    uint64_t bytes, until;
};
struct hs_rest_patience hs_rest_patience__of_list(void);

// What is known of the trace, until it is released; the error says what is wrong with the file since. A closed trace
// remains closed. While the trace is read again, this is what was known before; `patience` says for how long that is
// waited. NULL: out of memory.
const struct hs_trace_facts *hs_rest_trace__facts(struct hs_rest_trace *trace, struct hs_rest_patience *patience,
                                                  struct hs_error *error);
// How far the indexes of the current state are; 0 of 0: it has none, or the trace is closed.
struct hs_indexes_progress hs_rest_trace__indexes(struct hs_rest_trace *trace);
void hs_rest_state__release(const struct hs_rest_state *state);

// Whether everything that was read of the state was valid: files can be truncated while they are served. -ESTALE.
int hs_rest_trace__check(struct hs_rest_trace *trace, const struct hs_rest_state *state, struct hs_error *error);

#endif
