// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Where the recording library is.
#ifndef HEAPSONDE_HOST_CLI_LIBRARY_H
#define HEAPSONDE_HOST_CLI_LIBRARY_H

#include "host/store/error.h"

#include <stddef.h>

// What HEAPSONDE_LIBRARY names, or the one beside this program, or the installed one. 0, or a negative errno with the
// reason in `error`.
int hs_library__find(char *path, size_t size, struct hs_error *error);

#endif
