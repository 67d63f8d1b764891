// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The headers of answers.
#ifndef HEAPSONDE_HOST_SERVER_HEADERS_H
#define HEAPSONDE_HOST_SERVER_HEADERS_H

#include "host/server/answer.h"

struct MHD_Response;

void hs_headers__add(struct MHD_Response *response, const struct hs_http_answer *answer);

// An answer that redirects a browser to a path and sets a cookie; NULL: out of memory.
struct MHD_Response *hs_headers__lead_to(const char *path, const char *cookie);

#endif
