// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/store/error.h"

#include <stdarg.h>
#include <stdio.h>

int hs_error__set(struct hs_error *error, int code, const char *format, ...)
{
    if (error) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(error->message, sizeof error->message, format, arguments);
        va_end(arguments);
    }
    return -code;
}
