// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A browser that has shown the token once gets a cookie for it, so that later addresses need none.
#ifndef HEAPSONDE_HOST_SERVER_LOGIN_H
#define HEAPSONDE_HOST_SERVER_LOGIN_H

#include <stdbool.h>

// The value of a Set-Cookie header, to be freed; NULL: out of memory. Cookies are kept by host: the port is part of the
// name.
char *hs_login__cookie(const char *token, unsigned port);

// Whether a Cookie header has it; NULL: there is none. Takes the same time wherever they differ.
bool hs_login__is_known(const char *header, const char *token, unsigned port);

#endif
