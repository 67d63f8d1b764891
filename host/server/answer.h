// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The answer to a request.
#ifndef HEAPSONDE_HOST_SERVER_ANSWER_H
#define HEAPSONDE_HOST_SERVER_ANSWER_H

#include "host/server/stream.h"

#include <stdbool.h>
#include <stddef.h>

struct hs_http_answer {
    unsigned status;
    const char *type; // Content-Type, a constant
    char *body;       // from malloc; the server frees it
    size_t length;
    struct hs_stream_writer writer; // used instead of a body if it has `write`: sent while it is written
    bool packed;                    // compressed with gzip; clients that do not accept it get it unpacked
    const char *cache;              // Cache-Control, a constant; NULL: not cacheable
    const char *policy;             // Content-Security-Policy, a constant; NULL: not needed
    const char *link;               // Link, a constant; NULL: none
    char etag[40];                  // with quotes; "": none
    char warning[320];              // X-Heapsonde-Warning, printable ASCII; "": none
    char file_name[128];            // name under which browsers save it; "": they may show it
};

// Fills the answer with a line of text.
void hs_http_answer__text(struct hs_http_answer *answer, unsigned status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
