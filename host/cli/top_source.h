// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Where `top` gets its answers: a trace file on this machine, a folder that `gather` writes, or a server.
#ifndef HEAPSONDE_HOST_CLI_TOP_SOURCE_H
#define HEAPSONDE_HOST_CLI_TOP_SOURCE_H

#include "host/cli/subject.h"
#include "host/cli/top_growing.h"
#include "host/rest/rest.h"

#include <pthread.h>

struct hs_top_source {
    const char *target, *device; // as they were given
    const struct hs_symbols_options *symbols;
    struct hs_rest *rest;           // NULL: a server answers
    struct hs_top_growing *growing; // NULL: the trace is always asked as a whole
    pthread_mutex_t lock;           // held while `rest` is replaced, and by hs_top_source__give_up
    int gives_up;                   // hs_top_source__give_up was called; atomic
    char *host, *port, *token;
    char *trace; // the id of the one that is shown
    // Of a folder or a server:
    size_t place, of; // the place of the trace in the list, from 1; 0: there is no list
    char *shown;      // the path of the trace
    char *name;       // of its device; "": not known
};

// `target` is a file; a folder of `gather`, of which the newest trace is shown that has not ended; or the address of a
// server: http://HOST:PORT, with ?token=TOKEN if it is not in the variable HEAPSONDE_TOKEN, of which the last trace is
// shown. `device` chooses one of a folder or server by the name of the device or program, or by its process id; NULL:
// any. 0, or a negative errno with the error set.
int hs_top_source__open(struct hs_top_source *source, const char *target, const char *device,
                        const struct hs_symbols_options *symbols, struct hs_error *error);
void hs_top_source__close(struct hs_top_source *source);

// Goes on to the next trace of the folder or server that `device` chooses, as they are now. -ENOENT: there is none.
int hs_top_source__next(struct hs_top_source *source, struct hs_error *error);

// Looks for the name of the device again if it is not known: gather writes it after the trace has begun.
void hs_top_source__learn_name(struct hs_top_source *source);

// The answer to a question about the trace, such as "summary", as text that the caller frees.
int hs_top_source__ask(struct hs_top_source *source, const char *question, char **answer, struct hs_error *error);

// The rows of a trace file that is being written (host/cli/top_growing.h). False: ask for them.
bool hs_top_source__rows(struct hs_top_source *source, const char *by, struct hs_top_rows *rows);

// Ends the source for all threads: opening a trace and answers from files end soon, with an error, and so does every
// later call.
void hs_top_source__give_up(struct hs_top_source *source);

#endif
