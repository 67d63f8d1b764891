// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Strips a library, of any machine, to what a loader maps: no debug information, no symbols but those
// that are exported, which an injector finds by their sections.
#ifndef HEAPSONDE_HOST_BOARD_STRIPPED_H
#define HEAPSONDE_HOST_BOARD_STRIPPED_H

#include "host/base/error.h"

#include <stddef.h>

// Returns a descriptor of a temporary file with the stripped library, at offset 0, or a negative errno.
int hs_stripped__open(const char *path, size_t *size, struct hs_error *error);

#endif
