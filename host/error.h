// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The one error rule of the host half: a function that can fail returns 0 or a negative errno and, when it was given
// one, fills a struct hs_error with a single line for the user: what happened, to what, and what to do.
#ifndef HEAPSONDE_HOST_ERROR_H
#define HEAPSONDE_HOST_ERROR_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

struct hs_error {
    char message[512];
};

// Fills `error` (which may be NULL) and returns -|code|, so that `return hs_error__set(error, EINVAL, ...)` reads well.
__attribute__((format(printf, 3, 4))) static inline int hs_error__set(struct hs_error *error, int code,
                                                                      const char *format, ...)
{
    if (error) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(error->message, sizeof(error->message), format, arguments);
        va_end(arguments);
    }
    return code < 0 ? code : -code;
}

#endif
