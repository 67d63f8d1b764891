// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What goes with an answer: how long it may be kept, and under which name it is saved.
#ifndef HEAPSONDE_HOST_REST_SENDING_H
#define HEAPSONDE_HOST_REST_SENDING_H

#include "host/rest/question.h"
#include "host/server/http.h"

// Whether the client has the answer with that key already: then that is said in it.
bool hs_sending__knows(const struct hs_question *question, const struct hs_http_request *request, const char *key,
                       struct hs_http_answer *answer);

// Adds to a good answer what is known of it; without a key it is another one every time.
void hs_sending__describe(const struct hs_question *question, const char *key, struct hs_http_answer *answer);

#endif
