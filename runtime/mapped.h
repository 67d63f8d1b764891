// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Finds which lines of /proc/self/maps are one loaded file.
//
// The headers of a file tell how far it reaches when it is loaded, so mappings within that range belong to it. This
// includes mappings of the file's first page again (small segments of lld, mold and gold), and code that the program
// has copied to other pages at the same address. Code of a file outside of that range, or mapped a second time, is a
// module of its own.
#ifndef HEAPSONDE_RUNTIME_MAPPED_H
#define HEAPSONDE_RUNTIME_MAPPED_H

#include "runtime/maps.h"

// Begins with a mapping that hs_mapped__add rejected. `reach`: from hs_image__reach.
void hs_mapped__begin(struct hs_mapped *mapped, const struct hs_maps_line *first, uint64_t reach);

// Adds a mapping if it belongs to the others. `path`: of the first one; `same_path`: this one has the same path.
bool hs_mapped__add(struct hs_mapped *mapped, const struct hs_maps_line *mapping, bool same_path, const char *path);

// Copies a path as in the maps, where a newline is written \012; "" if it is too long. `size` > 0.
void hs_maps_line__copy_path(const char *path, size_t length, char *to, size_t size);

#endif
