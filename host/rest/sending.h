// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Headers of an answer: how long it may be cached, and the file name for saving it.
#ifndef HEAPSONDE_HOST_REST_SENDING_H
#define HEAPSONDE_HOST_REST_SENDING_H

#include "host/rest/question.h"
#include "host/server/http.h"

// Whether the client already has the answer with this key. If so, `answer` becomes "304 Not Modified".
bool hs_sending__knows(const struct hs_question *question, const struct hs_http_request *request, const char *key,
                       struct hs_http_answer *answer);

// Adds the headers to a successful answer. Without a key the answer is not cacheable.
void hs_sending__describe(const struct hs_question *question, const char *key, struct hs_http_answer *answer);

#endif
