// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Answers in gzip, for clients that take it.
#ifndef HEAPSONDE_HOST_SERVER_PACK_H
#define HEAPSONDE_HOST_SERVER_PACK_H

#include "host/server/answer.h"

// Whether an Accept-Encoding header allows gzip; NULL: no header.
bool hs_pack__is_accepted(const char *header);

// Adapts an answer to the client: compresses text that is long enough and streams, or unpacks a compressed answer. If
// that is impossible, the answer stays unchanged; -ENOMEM only if the client could not read it.
int hs_pack__answer(struct hs_http_answer *answer, bool accepted);

#endif
