// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A library without what no loader maps: section headers, symbols for debuggers, debug information. For any machine.
#ifndef HEAPSONDE_HOST_BOARD_STRIPPED_H
#define HEAPSONDE_HOST_BOARD_STRIPPED_H

#include "host/store/error.h"

#include <stddef.h>

// A descriptor of a temporary file with it, at its beginning, or a negative errno.
int hs_stripped__open(const char *path, size_t *size, struct hs_error *error);

#endif
