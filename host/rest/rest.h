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

// NULL: out of memory. What the options point to must outlive it.
struct hs_rest *hs_rest__create(const struct hs_symbols_options *symbols);
void hs_rest__destroy(struct hs_rest *rest);

// That a trace is going to be opened: the list shows how far that is. 0 or -ENOMEM.
int hs_rest__expect(struct hs_rest *rest, const char *path);
// Opens a trace, also while questions are asked; `progress` may be NULL. -EEXIST: it is served already.
int hs_rest__add(struct hs_rest *rest, const char *path, const struct hs_query_control *progress,
                 struct hs_error *error);

// For the server, with the rest as context.
const struct hs_http_page *hs_rest__pages(const struct hs_rest *rest);

// The description of all endpoints, as OpenAPI 3.1.
void hs_rest__write_openapi(FILE *out);

#endif
