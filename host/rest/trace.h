// SPDX-License-Identifier: MIT OR Apache-2.0
//
// One trace that is served, and its current state. It is read again if its file has grown. Its fields are for the
// units that keep traces: this one, open_traces, list_reading and traces.
#ifndef HEAPSONDE_HOST_REST_TRACE_H
#define HEAPSONDE_HOST_REST_TRACE_H

#include "host/rest/background.h"
#include "host/rest/file_stamp.h"
#include "host/rest/state.h"
#include "host/rest/trace_facts.h"

#include <pthread.h>

struct hs_open_traces;

// What the traces of a server have in common.
struct hs_rest_common {
    struct hs_symbols_options symbols;
    bool prepares; // indexes are made in the background
    int ends;      // not 0: what is read in the background is given up
    struct hs_background *background;
    struct hs_open_traces *open;
};

struct hs_rest_trace {
    char id[33];
    char *path;
    struct hs_rest_common *common;
    struct hs_rest_trace *older, *newer; // of those that are open, under their lock
    struct hs_background_thing again;    // to read it again when it has grown
    uint64_t bytes;                      // what the symbols of `now` take, as of the last release; atomic
    bool is_read;                        // under `reading`, which will be held for long; atomic
    // The next ones are written under both locks, and read under one of them. `lock` is never held while a trace is
    // read, `reading` is: then, and while a state becomes held for a question or is closed for being idle.
    pthread_mutex_t lock, reading;
    struct hs_rest_state *now; // NULL: closed
    struct hs_file_stamp stamp;
    bool grows, is_series;        // as the last state said
    unsigned generation;          // of the contents
    unsigned opened;              // how many states there were
    uint64_t not_before;          // ns: when a trace that grows may be read again; under `reading`
    struct hs_trace_facts *facts; // NULL: not worked out yet; under `lock`
    bool facts_are_old;           // not of this stamp; under `lock`
    struct hs_error again_error;  // of the last reading in the background; under `lock`
};

// Opens it for the first time. NULL on an error.
int hs_rest_trace__create(struct hs_rest_trace **trace, const char *path, struct hs_rest_common *common,
                          const struct hs_query_control *progress, struct hs_error *error);
void hs_rest_trace__destroy(struct hs_rest_trace *trace);

const char *hs_rest_trace__id(const struct hs_rest_trace *trace);
const char *hs_rest_trace__path(const struct hs_rest_trace *trace);

// The current state, whose holders become one more; NULL: the trace is closed.
struct hs_rest_state *hs_rest_trace__hold_now(struct hs_rest_trace *trace);
// The last holder closes the state.
void hs_rest_trace__let_go(struct hs_rest_state *state);
// What is known of the last state that was read. NULL: out of memory.
struct hs_trace_facts *hs_rest_trace__hold_facts(struct hs_rest_trace *trace);

// Under `reading`. Whether to read it, and the file's stamp: 1, 0 or -ESTALE. A trace that grows is read again, but not
// so often that nothing else is done. One that is closed is opened if that is `wanted`.
int hs_rest_trace__needs_reading(struct hs_rest_trace *trace, bool wanted, struct hs_file_stamp *stamp,
                                 struct hs_error *error);
// Does it. The stamp is from before.
int hs_rest_trace__read(struct hs_rest_trace *trace, const struct hs_file_stamp *stamp, struct hs_error *error);
// Both.
int hs_rest_trace__refresh(struct hs_rest_trace *trace, bool wanted, struct hs_error *error);

// Whether the file can still be served, while another thread reads it. -ESTALE.
int hs_rest_trace__check_file(struct hs_rest_trace *trace, struct hs_error *error);
// Whether everything that was read of the state was valid: files can be truncated while they are served. -ESTALE.
int hs_rest_trace__check(struct hs_rest_trace *trace, const struct hs_rest_state *state, struct hs_error *error);

// Whether its process may write more of these heap dumps.
bool hs_rest_trace__is_folder_of_dumps(const struct hs_rest_trace *trace);
// Whether the trace will grow: a process or `gather` still has the file or its folder open. A killed process does not.
// `grows`: what its state says.
bool hs_rest_trace__is_written(struct hs_rest_trace *trace, bool grows);

// How far the indexes of the current state are; 0 of 0: it has none, or the trace is closed.
struct hs_indexes_progress hs_rest_trace__indexes(struct hs_rest_trace *trace);

#endif
