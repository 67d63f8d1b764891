// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Answers in gzip, for clients that take it.
#ifndef HEAPSONDE_HOST_SERVER_PACK_H
#define HEAPSONDE_HOST_SERVER_PACK_H

#include "host/server/http.h"

// Whether an Accept-Encoding header lets through gzip; NULL: there is none.
bool hs_pack__is_accepted(const char *header);

// Makes of an answer what such a client takes: packs text that is long enough, a stream while it is written, and
// unpacks what is packed already for a client that does not take it. What cannot be done is left as it is; -ENOMEM only
// for an answer that would be no use.
int hs_pack__answer(struct hs_http_answer *answer, bool accepted);

#endif
