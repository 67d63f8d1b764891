// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Where sources lie on this machine, when debug information names the folders of the machine that built them.
#ifndef HEAPSONDE_HOST_SYMBOLS_SOURCE_MAP_H
#define HEAPSONDE_HOST_SYMBOLS_SOURCE_MAP_H

#include <stdbool.h>
#include <stddef.h>

// Whether a text is FROM=TO with something before the sign.
bool hs_source_map__is_valid(const char *map);

// Replaces the longest FROM of `maps` (FROM=TO each) that `path` begins with by its TO; FROM ends at a slash or at the
// end of the path. Returns `buffer`, or `path` itself when none fits.
const char *hs_source_map__apply(const char *const *maps, size_t count, const char *path, char *buffer, size_t size);

#endif
