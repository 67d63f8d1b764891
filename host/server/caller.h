// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Who sends a request, as far as its headers say.
#ifndef HEAPSONDE_HOST_SERVER_CALLER_H
#define HEAPSONDE_HOST_SERVER_CALLER_H

#include "host/server/uri.h"

#include <stdbool.h>

struct MHD_Connection;

// Whether HOST[:PORT] names this machine itself.
bool hs_caller__is_loopback(const char *host);

// False if a page of another site sent the request, or a page whose host name was made to lead to this machine (DNS
// rebinding). `authority` is the host of a request target in absolute form, else NULL.
bool hs_caller__is_own(struct MHD_Connection *mhd, const char *authority);

// How a request gives the token of the server. Browsers send cookies to all ports of a host.
enum hs_caller_token { HS_CALLER_NO_TOKEN, HS_CALLER_TOKEN_IN_COOKIE, HS_CALLER_TOKEN_IN_REQUEST };
enum hs_caller_token hs_caller__token(struct MHD_Connection *mhd, const struct hs_uri *uri, const char *authority,
                                      const char *token, unsigned port);

// Whether a request may change something. A page of another site or port can make a browser send a GET or a form. New
// browsers say so in a header, and such requests were refused before. Old browsers do not, so a request must be one
// that such a page cannot send, or have the token itself: a cookie does not suffice, because browsers send it for every
// page.
bool hs_caller__may_change(struct MHD_Connection *mhd, const char *authority, enum hs_caller_token token);
// The same for a server without a token. The request has passed hs_caller__is_own.
bool hs_caller__is_no_old_page(struct MHD_Connection *mhd);

#endif
