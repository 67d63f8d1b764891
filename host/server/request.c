// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/server/http.h"

#include <string.h>

const char *hs_http_request__parameter(const struct hs_http_request *request, const char *name)
{
    return hs_uri__value(request->uri, name);
}

bool hs_http_request__knows(const struct hs_http_request *request, const char *etag)
{
    const char *known = hs_http_request__header(request, "If-None-Match");
    return known && *etag && strstr(known, etag);
}
