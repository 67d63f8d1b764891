// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Finds the recording library.
#ifndef HEAPSONDE_HOST_CLI_LIBRARY_H
#define HEAPSONDE_HOST_CLI_LIBRARY_H

#include "host/base/error.h"

#include <stddef.h>

// HEAPSONDE_LIBRARY, or the library that is installed with this command. 0, or a negative errno with the reason in
// `error`.
int hs_library__find(char *path, size_t size, struct hs_error *error);

// The same for the sampling library, for which there is no variable.
int hs_library__find_sampler(char *path, size_t size, struct hs_error *error);

#endif
