// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/server/login.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A token may have bytes that a cookie may not: they are written as hexadecimal digits.
static char *write_pair(const char *token, unsigned port)
{
    char *pair = malloc(2 * strlen(token) + 32);
    int at = pair ? sprintf(pair, "heapsonde_%u=", port) : 0;
    for (const unsigned char *byte = (const unsigned char *)token; pair && *byte; byte++)
        at += sprintf(pair + at, "%02x", *byte);
    return pair;
}

char *hs_login__cookie(const char *token, unsigned port)
{
    char *cookie = NULL;
    char *pair = write_pair(token, port);
    if (pair && asprintf(&cookie, "%s; HttpOnly; SameSite=Strict; Path=/", pair) < 0)
        cookie = NULL;
    free(pair);
    return cookie;
}

static bool is_same(const char *given, size_t length, const char *pair)
{
    const size_t wanted = strlen(pair);
    unsigned difference = length != wanted;
    for (size_t i = 0; i < length; i++)
        difference |= (unsigned char)given[i] ^ (unsigned char)pair[i % wanted];
    return !difference;
}

bool hs_login__is_known(const char *header, const char *token, unsigned port)
{
    bool known = false;
    char *pair = header ? write_pair(token, port) : NULL;
    while (pair && *header && !known) {
        header += strspn(header, "; \t");
        const size_t length = strcspn(header, "; \t");
        known = length && is_same(header, length, pair);
        header += length;
    }
    free(pair);
    return known;
}
