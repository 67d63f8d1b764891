// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/base/error.h"

#include "host/base/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// If an allocation failed at the limit, the message names the option that raises it, once: it may be part of another
// one.
static void name_limit(struct hs_error *error)
{
    size_t used = strlen(error->message);
    if (hs_memory__most() && !strstr(error->message, "; heapsonde takes "))
        snprintf(error->message + used, sizeof(error->message) - used, "; heapsonde takes %" PRIu64 " MiB at most, %s",
                 hs_memory__most() >> 20, hs_memory__advice(0).text);
}

int hs_error__set(struct hs_error *error, int code, const char *format, ...)
{
    if (error) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(error->message, sizeof error->message, format, arguments);
        va_end(arguments);
        if (code == ENOMEM)
            name_limit(error);
    }
    return -code;
}
