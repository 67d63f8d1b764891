// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Maps source paths to this machine, if debug information contains the folders of the machine that built the program.
#ifndef HEAPSONDE_HOST_SYMBOLS_SOURCE_MAP_H
#define HEAPSONDE_HOST_SYMBOLS_SOURCE_MAP_H

#include <stdbool.h>
#include <stddef.h>

// Whether a text has the form FROM=TO with a nonempty FROM.
bool hs_source_map__is_valid(const char *map);

// Replaces the longest FROM of `maps` (FROM=TO each) at the beginning of `path` by its TO. FROM has to end at a slash
// or at the end of the path. Returns `buffer`, or `path` itself if none matches.
const char *hs_source_map__apply(const char *const *maps, size_t count, const char *path, char *buffer, size_t size);

#endif
