// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The traces that are served. Each has a state: a store, its symbols and what filters need. States do not change; a
// trace that grows gets a new one, and questions keep the one that they began with.
#ifndef HEAPSONDE_HOST_REST_TRACES_H
#define HEAPSONDE_HOST_REST_TRACES_H

#include "host/filter/filter.h"
#include "host/rest/indexes.h"
#include "host/store/store.h"
#include "host/symbols/trace_symbols.h"

struct hs_rest_state {
    const struct hs_store *store;
    struct hs_trace_symbols *symbols;
    struct hs_filter_scope *scope;
    const struct hs_indexes *indexes; // NULL: none
    const char *path;                 // of the trace
    char key[64];                     // begins what is cached of it
};

// How many allocations pass through a return address, by node of the stack table.
uint64_t hs_rest_state__frame_count(const struct hs_rest_state *state, uint32_t node);
// Works them out when that was not done yet. Returns 0 or a negative errno.
int hs_rest_state__prepare_frame_counts(const struct hs_rest_state *state, struct hs_error *error);
// What is known of the stacks as a whole, worked out once.
struct hs_stack_facts {
    size_t stacks; // that allocated
    uint32_t deepest;
};
void hs_rest_state__stack_facts(const struct hs_rest_state *state, struct hs_stack_facts *facts);
// Called when a question has been answered: what is resident of files is given back when it has become much.
void hs_rest_state__trim(const struct hs_rest_state *state);
// However much there is. Others may read meanwhile.
void hs_rest_state__drop_pages(const struct hs_rest_state *state);
bool hs_rest_state__grows(const struct hs_rest_state *state); // it is still being written, or its end is missing

struct hs_rest_trace;
struct hs_rest_traces;

// Whether more of it will come: a process or `gather` still has the file or its folder. A killed process has not.
bool hs_rest_trace__is_written(struct hs_rest_trace *trace, const struct hs_rest_state *state);

// `prepares`: as soon as a trace is there, what answers need is worked out beforehand.
struct hs_rest_traces *hs_rest_traces__create(const struct hs_symbols_options *symbols, bool prepares);
void hs_rest_traces__destroy(struct hs_rest_traces *traces);

// Opens a trace and adds it behind the others; -EEXIST when there is one with its id. By one thread at a
// time.
int hs_rest_traces__add(struct hs_rest_traces *traces, const char *path, const struct hs_query_control *progress,
                        struct hs_error *error);
size_t hs_rest_traces__count(struct hs_rest_traces *traces);
struct hs_rest_trace *hs_rest_traces__at(struct hs_rest_traces *traces, size_t number);
// By id (in either case), or "last"; NULL: none.
struct hs_rest_trace *hs_rest_traces__find(struct hs_rest_traces *traces, const char *id);

const char *hs_rest_trace__id(const struct hs_rest_trace *trace);
const char *hs_rest_trace__path(const struct hs_rest_trace *trace);

// The state as of now, looked for again when the file has changed. Holds it. -ESTALE: the trace has been changed or is
// gone, the error says how.
int hs_rest_trace__hold(struct hs_rest_trace *trace, const struct hs_rest_state **state, struct hs_error *error);
// The last known state, whatever became of the file.
const struct hs_rest_state *hs_rest_trace__hold_last(struct hs_rest_trace *trace);
void hs_rest_state__release(const struct hs_rest_state *state);

// Whether all that was read of the state was really there: files can be cut under a server. -ESTALE.
int hs_rest_trace__check(struct hs_rest_trace *trace, const struct hs_rest_state *state, struct hs_error *error);

#endif
