// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/server/http.h"

#include <stdarg.h>
#include <stdio.h>
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

void hs_http_answer__text(struct hs_http_answer *answer, unsigned status, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int length = vasprintf(&answer->body, format, list);
    va_end(list);
    if (length < 0)
        answer->body = NULL;
    answer->length = length < 0 ? 0 : (size_t)length;
    answer->status = status;
    answer->type = "text/plain";
}
