// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Files that hold a key or a token.
#ifndef HEAPSONDE_HOST_BASE_SECRET_FILE_H
#define HEAPSONDE_HOST_BASE_SECRET_FILE_H

#include "host/base/error.h"

#include <stddef.h>
#include <sys/types.h>

// Reads at most `size` bytes of a regular file that belongs to this user or root, and that nobody else can use; white
// space at the end is left out, unless the file has `size` bytes or more. `what` is its name in messages, such as
// "key". The length, or a negative errno.
ssize_t hs_secret_file__read(const char *path, const char *what, char *bytes, size_t size, struct hs_error *error);

#endif
