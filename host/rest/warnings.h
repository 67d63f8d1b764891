// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What an answer says about parameters that nothing takes: as a header, and in answers that are JSON objects as
// "warnings", their first member.
#ifndef HEAPSONDE_HOST_REST_WARNINGS_H
#define HEAPSONDE_HOST_REST_WARNINGS_H

#include "host/rest/endpoint.h"
#include "host/server/uri.h"

#include <stdio.h>

// Three are named, a fourth says how many more there are.
enum { HS_WARNINGS = 4, HS_WARNING_LENGTH = 80 };

struct hs_warnings {
    char text[HS_WARNINGS][HS_WARNING_LENGTH]; // printable ASCII, as headers need it
    size_t count;
};

void hs_warnings__find(struct hs_warnings *warnings, const struct hs_uri *uri);

// All of them in one line.
void hs_warnings__join(const struct hs_warnings *warnings, char *line, size_t size);

// Puts them into an answer from malloc, if it is an object. Without memory it stays as it is.
void hs_warnings__insert(const struct hs_warnings *warnings, char **body, size_t *length);

// A stream that writes to `out`, and the warnings into the object that is written, if it is one. NULL: out of memory.
// Valid as long as both are; closing it leaves `out` open.
struct hs_warned_stream {
    const struct hs_warnings *warnings;
    FILE *out;
    bool begun;
};
FILE *hs_warned_stream__open(struct hs_warned_stream *self, const struct hs_warnings *warnings, FILE *out);

#endif
