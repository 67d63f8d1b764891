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

// False: a page of another site has sent it, or one whose name only leads to this machine. `authority` is the host that
// a target in absolute form names, else NULL.
bool hs_caller__is_own(struct MHD_Connection *mhd, const char *authority);

// How a request gives the token of the server. Browsers send cookies to all ports of a host.
enum hs_caller_token { HS_CALLER_NO_TOKEN, HS_CALLER_TOKEN_IN_COOKIE, HS_CALLER_TOKEN_IN_REQUEST };
enum hs_caller_token hs_caller__token(struct MHD_Connection *mhd, const struct hs_uri *uri, const char *authority,
                                      const char *token, unsigned port);

// A page of another site, or of another port, can make a browser send a GET or a form. Browsers that are not old say
// so, and were turned away then; nothing that such a page can send with an old one may change something. Who gives the
// token with the request is no such page; a cookie is sent for all of them.
bool hs_caller__may_change(struct MHD_Connection *mhd, const char *authority, enum hs_caller_token token);
// The same for a server without a token, of a request that is its own.
bool hs_caller__is_no_old_page(struct MHD_Connection *mhd);

#endif
