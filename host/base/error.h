// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The error rule of the host half: a function returns 0 or a negative errno. At the boundary of a module it also fills
// a struct hs_error with one line for the user: the subject, a colon, the problem. `error` may be NULL.
#ifndef HEAPSONDE_BASE_ERROR_H
#define HEAPSONDE_BASE_ERROR_H

struct hs_error {
    char message[1024];
};

// Writes the message and returns -code, so that `return hs_error__set(error, EINVAL, "%s: ...", path)` is one step.
int hs_error__set(struct hs_error *error, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
