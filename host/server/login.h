// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A browser that has sent the token once gets a cookie, so that later addresses need no token.
#ifndef HEAPSONDE_HOST_SERVER_LOGIN_H
#define HEAPSONDE_HOST_SERVER_LOGIN_H

#include <stdbool.h>

// The value of a Set-Cookie header, which the caller frees; NULL: out of memory. Browsers store cookies per host, so
// the name of the cookie contains the port.
char *hs_login__cookie(const char *token, unsigned port);

// Whether a Cookie header contains it; NULL: no header. Compares in constant time.
bool hs_login__is_known(const char *header, const char *token, unsigned port);

#endif
