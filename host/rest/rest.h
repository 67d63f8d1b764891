// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The questions that `heapsonde server` answers over HTTP about one or several traces.
//
// Threads: stores do not change. Symbols, filter scopes and the cache have locks of their own, which are held for as
// long as one of their functions runs; a trace has one for its state and one for reading it again. No function here
// calls another with any of them held, but for the cache, which holds none while it works out a value.
#ifndef HEAPSONDE_HOST_REST_REST_H
#define HEAPSONDE_HOST_REST_REST_H

#include "host/query/query.h"
#include "host/server/http.h"
#include "host/symbols/symbols.h"

#include <stdio.h>

struct hs_rest;

// Of a server much is worked out beforehand, in a thread of its own; for one question that is not worth it.
enum hs_rest_use { HS_REST_SERVER, HS_REST_ONE_QUESTION };

// NULL: out of memory. What the options point to must outlive it.
struct hs_rest *hs_rest__create(const struct hs_symbols_options *symbols, enum hs_rest_use use);
void hs_rest__destroy(struct hs_rest *rest);

// That a trace is going to be opened: the list shows how far that is. 0 or -ENOMEM.
int hs_rest__expect(struct hs_rest *rest, const char *path);
// Opens a trace, also while questions are asked; `progress` may be NULL. -EEXIST: it is served already.
int hs_rest__add(struct hs_rest *rest, const char *path, const struct hs_query_control *progress,
                 struct hs_error *error);

// The id of the trace that was opened last; there is one.
const char *hs_rest__last_id(const struct hs_rest *rest);

// For the server, with the rest as context.
const struct hs_http_page *hs_rest__pages(const struct hs_rest *rest);

// Writes the answer to a question as clients send it: "/data/last/totals?by=library". 0, or a negative errno with what
// clients would be told: -EINVAL for a wrong question, -ENOENT for what there is not.
int hs_rest__ask(struct hs_rest *rest, const char *address, FILE *out, struct hs_error *error);

// A line for each question about a trace: what stands behind /data/ID/, and what it answers.
void hs_rest__write_questions(FILE *out);

// The description of all endpoints, as OpenAPI 3.1.
void hs_rest__write_openapi(FILE *out);

#endif
