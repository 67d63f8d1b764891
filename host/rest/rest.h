// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The questions about traces that `heapsonde server` answers over HTTP.
//
// Threads: stores do not change. Symbols, filter scopes and the cache have locks of their own, which are held only
// within their functions. A trace has one lock for its state and one for reading it again. No function here calls
// another while it holds a lock.
#ifndef HEAPSONDE_HOST_REST_REST_H
#define HEAPSONDE_HOST_REST_REST_H

#include "host/query/query.h"
#include "host/server/http.h"
#include "host/symbols/symbols.h"

#include <stdio.h>
#include <sys/types.h>

struct hs_rest;

// A server computes indexes in advance, in a thread of its own. For a single question that is not worth it.
enum hs_rest_use { HS_REST_SERVER, HS_REST_ONE_QUESTION };

// NULL: out of memory. The data to which the options point must outlive it.
struct hs_rest *hs_rest__create(const struct hs_symbols_options *symbols, enum hs_rest_use use);
void hs_rest__destroy(struct hs_rest *rest);

// What /findings leaves out. Must outlive the server.
struct hs_suppressions;
void hs_rest__suppress(struct hs_rest *rest, const struct hs_suppressions *suppressions);

// Folders below which source files of traces may be read, see host/rest/source_text.h. Must outlive the server.
void hs_rest__serve_sources(struct hs_rest *rest, const char *const *folders, size_t count);

// The process that writes a trace is found by these.
struct hs_rest_writer {
    const char *path;             // of the trace, or of the folder of dumps
    const struct hs_store *store; // what is known of it; NULL: nothing yet, only the path is known
};

// Lets clients send commands to the process that writes a trace. Must outlive the server.
struct hs_rest_control {
    // Sends a request of docs/protocol.md, 2.5, to the process that writes this trace, and to no other. It ends soon
    // after `*cancel` becomes not 0. The caller frees the answer. 0, or a negative errno with the error set.
    int (*ask)(void *context, const struct hs_rest_writer *writer, const char *request, const int *cancel,
               char **answer, struct hs_error *error);
    void *context;
};
void hs_rest__control(struct hs_rest *rest, const struct hs_rest_control *control);

// The database of many devices that questions of /fleet ask (docs/fleet.md), and how long an answer may take. 0, or a
// negative errno with the error set.
int hs_rest__ask_fleet(struct hs_rest *rest, const char *address, unsigned seconds, struct hs_error *error);

// The folders into which `gather` receives. Must outlive the server.
struct hs_rest_folders {
    const char *const *path;
    size_t count;
    // Which processes send to the gatherer of this folder, and match the expression (NULL: all): an array of JSON,
    // which the caller frees. 0, or a negative errno with the error set.
    int (*devices)(void *context, const char *folder, const char *select, char **json, struct hs_error *error);
    void *context;
};
void hs_rest__folders(struct hs_rest *rest, const struct hs_rest_folders *folders);

// Announces a trace that will be opened, so that the list shows the progress. 0 or -ENOMEM.
int hs_rest__expect(struct hs_rest *rest, const char *path);
// Opens a trace, also while questions are answered; `progress` may be NULL. -EEXIST: it is already served.
int hs_rest__add(struct hs_rest *rest, const char *path, const struct hs_query_control *progress,
                 struct hs_error *error);

// The id of the trace that was opened last; there is one.
const char *hs_rest__last_id(const struct hs_rest *rest);

// The state of that trace, from which its questions are answered; NULL: it is closed. To be released.
struct hs_rest_state;
struct hs_rest_state *hs_rest__hold_state(struct hs_rest *rest);
void hs_rest__release_state(struct hs_rest_state *state);

// For the server, with the rest as context.
const struct hs_http_page *hs_rest__pages(const struct hs_rest *rest);

// Writes the answer to a question in the form of clients: "/data/last/totals?by=library". 0, or a negative errno with
// the message for clients. -EINVAL: wrong question; -ENOENT: the object does not exist.
int hs_rest__ask(struct hs_rest *rest, const char *address, FILE *out, struct hs_error *error);
// Ends all questions of hs_rest__ask in other threads soon, with an error, and refuses later ones.
void hs_rest__give_up(struct hs_rest *rest);

// Writes the trace with this id as one HTML file: the page and what its views show at first, at most 5 MiB. `name` is
// the trace's file. 0, or a negative errno with the error set.
int hs_rest__write_report(struct hs_rest *rest, const char *id, const char *name, FILE *out, struct hs_error *error);

// Writes one line per question about a trace: the part of the path after /data/ID/, and a summary.
void hs_rest__write_questions(FILE *out);

// The description of all endpoints in OpenAPI 3.1.
void hs_rest__write_openapi(FILE *out);

#endif
