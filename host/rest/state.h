// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What questions about a served trace are answered from: a store, its symbols, and data for filters. States are
// immutable; only indexes are added to them.
#ifndef HEAPSONDE_HOST_REST_STATE_H
#define HEAPSONDE_HOST_REST_STATE_H

#include "host/filter/filter.h"
#include "host/query/indexes.h"
#include "host/store/store.h"
#include "host/symbols/trace_symbols.h"

struct hs_dump_series;
struct hs_rest_trace;

struct hs_rest_state {
    const struct hs_store *store;
    struct hs_trace_symbols *symbols;
    struct hs_filter_scope *scope;
    struct hs_indexes *indexes;                       // NULL: none
    const struct hs_dump_series *series;              // of heap dumps; NULL: a trace
    const char *path;                                 // of the trace
    const struct hs_symbols_options *symbols_options; // NULL: none were given
    char name[48]; // of the contents: the same for each state of a file that has not changed
    char key[64];  // prefix of the keys of cached values that refer to this state; begins with `name`
    // The next ones are the trace's: see trace.h.
    struct hs_rest_trace *trace;
    unsigned holders; // under `lock` of the trace; one of them is the trace itself
};

// Reads a trace or heap dumps. The path and the options must outlive the state. `progress` may be NULL. `prepares`:
// make indexes from now on. NULL on an error.
int hs_rest_state__open(struct hs_rest_state **state, const char *path, const struct hs_symbols_options *symbols,
                        bool prepares, const struct hs_query_control *progress, struct hs_error *error);
void hs_rest_state__close(struct hs_rest_state *state); // may be NULL

// The number of allocations that pass through a return address, by node of the stack table.
uint64_t hs_rest_state__frame_count(const struct hs_rest_state *state, uint32_t node);
// Computes them if that was not done yet. Returns 0 or a negative errno.
int hs_rest_state__prepare_frame_counts(const struct hs_rest_state *state, struct hs_error *error);
// Called after each answer: drops resident pages of files if there are many.
void hs_rest_state__trim(const struct hs_rest_state *state);
// The same regardless of their number. Other threads may be reading.
void hs_rest_state__drop_pages(const struct hs_rest_state *state);
bool hs_rest_state__grows(const struct hs_rest_state *state); // it is still being written, or its end is missing

#endif
