// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Parses the address of a request: the path in segments, and the parameters of the query, decoded. The input is
// hostile.
//
// A query is parsed like a form: pairs separated by &, + is a space, %XX is a byte. A percent sign without two
// hexadecimal digits is literal.
#ifndef HEAPSONDE_HOST_SERVER_URI_H
#define HEAPSONDE_HOST_SERVER_URI_H

#include "host/base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { HS_URI_SEGMENTS = 16, HS_URI_PARAMETERS = 256 };

struct hs_uri_parameter {
    const char *name;
    const char *value; // "": no value
};

struct hs_uri {
    const char *segment[HS_URI_SEGMENTS]; // of "/": no segments
    size_t segments;
    struct hs_uri_parameter *parameter; // in the order of the query
    size_t parameters;
    char *memory; // private: contains all strings
    size_t length;
};

// Parses "/path/of/it?name=value&other=1". -EINVAL: the error gives the reason; -ENOMEM.
int hs_uri__parse(struct hs_uri *uri, const char *text, struct hs_error *error);
int hs_uri__copy(struct hs_uri *uri, const struct hs_uri *from, struct hs_error *error);
void hs_uri__free(struct hs_uri *uri);

// The first value of a parameter, or NULL.
const char *hs_uri__value(const struct hs_uri *uri, const char *name);

// Whether the path matches a pattern such as "/data/{id}/tree". A part in braces matches one nonempty segment; these
// segments are stored in `values` in order, at most `most`.
bool hs_uri__matches(const struct hs_uri *uri, const char *pattern, const char **values, size_t most);

#endif
