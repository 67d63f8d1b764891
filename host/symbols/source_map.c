// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/symbols/source_map.h"

#include <stdio.h>
#include <string.h>

bool hs_source_map__is_valid(const char *map)
{
    return strcspn(map, "=") > 0 && strchr(map, '=');
}

// The length of FROM without slashes at its end, which then need not stand in the path twice. "/" becomes 0.
static size_t from_length(const char *map)
{
    size_t length = strcspn(map, "=");
    while (length && map[length - 1] == '/')
        length--;
    return length;
}

static bool fits(const char *map, size_t length, const char *path)
{
    return !strncmp(map, path, length) && (path[length] == '/' || !path[length]);
}

const char *hs_source_map__apply(const char *const *maps, size_t count, const char *path, char *buffer, size_t size)
{
    const char *best = NULL;
    size_t best_length = 0;
    for (size_t i = 0; i < count; i++) {
        size_t length = from_length(maps[i]);
        if (hs_source_map__is_valid(maps[i]) && fits(maps[i], length, path) && (!best || length >= best_length)) {
            best = maps[i];
            best_length = length;
        }
    }
    if (!best)
        return path;
    const char *to = strchr(best, '=') + 1;
    const char *rest = path + best_length;
    size_t to_length = strlen(to);
    // An empty TO leaves a path relative to the current folder; a TO that ends with a slash needs no second one.
    if (*rest == '/' && (!to_length || to[to_length - 1] == '/'))
        rest++;
    int length = snprintf(buffer, size, "%s%s", to, rest);
    return length >= 0 && (size_t)length < size ? buffer : path;
}
