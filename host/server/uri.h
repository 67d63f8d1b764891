// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What a request asks for: the path in segments and the parameters of the query, decoded. The bytes come from anybody.
//
// A query is read as browsers write forms: pairs with & between them, + is a space, %XX is a byte. A percent sign that
// two hexadecimal digits do not follow stands for itself.
#ifndef HEAPSONDE_HOST_SERVER_URI_H
#define HEAPSONDE_HOST_SERVER_URI_H

#include "host/store/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { HS_URI_SEGMENTS = 16, HS_URI_PARAMETERS = 256 };

struct hs_uri_parameter {
    const char *name;
    const char *value; // "" when there is none
};

struct hs_uri {
    const char *segment[HS_URI_SEGMENTS]; // of "/": none
    size_t segments;
    struct hs_uri_parameter *parameter; // in the order of the query
    size_t parameters;
    char *memory; // private: what all of them point into
    size_t length;
};

// Reads "/path/of/it?name=value&other=1". -EINVAL: the error says what is wrong with it; -ENOMEM.
int hs_uri__parse(struct hs_uri *uri, const char *text, struct hs_error *error);
int hs_uri__copy(struct hs_uri *uri, const struct hs_uri *from, struct hs_error *error);
void hs_uri__free(struct hs_uri *uri);

// The first value of a parameter; NULL when it is not there.
const char *hs_uri__value(const struct hs_uri *uri, const char *name);

// Whether the path is as the pattern says: "/data/{id}/tree". A part in braces stands for one segment that is not
// empty; those segments go to `values` in order, at most `most`.
bool hs_uri__matches(const struct hs_uri *uri, const char *pattern, const char **values, size_t most);

#endif
