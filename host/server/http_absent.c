// SPDX-License-Identifier: MIT OR Apache-2.0
//
// In place of http.c in a build without libmicrohttpd.
#include "host/server/http.h"

#include <errno.h>
#include <stddef.h>

const char *hs_http_request__header(const struct hs_http_request *request, const char *name)
{
    (void)request, (void)name;
    return NULL;
}

int hs_http__start(struct hs_http_server **server, const struct hs_http_options *options, struct hs_error *error)
{
    *server = NULL;
    return hs_error__set(
        error, ENOTSUP,
        "%s: this heapsonde was built without libmicrohttpd, which serving needs; install another build",
        options->listen);
}

unsigned hs_http__most_connections(void)
{
    return 0;
}

const char *hs_http__address(const struct hs_http_server *server)
{
    (void)server;
    return "";
}

void hs_http__stop(struct hs_http_server *server)
{
    (void)server;
}
