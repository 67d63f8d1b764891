// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/server/answer.h"

#include <stdarg.h>
#include <stdio.h>

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
