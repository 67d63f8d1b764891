// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Paths of files.
#ifndef HEAPSONDE_BASE_PATH_H
#define HEAPSONDE_BASE_PATH_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// The part after the last slash; "" if the path ends with one.
static inline const char *hs_path__name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static inline bool hs_path__ends_with(const char *path, const char *end)
{
    const size_t length = strlen(path), wanted = strlen(end);
    return length >= wanted && !strcmp(path + length - wanted, end);
}

// The folder for temporary files: $TMPDIR, or else /tmp.
static inline const char *hs_path__temporary(void)
{
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/tmp";
}

#endif
