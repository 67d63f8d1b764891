// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Unfinished stores of killed imports: each is in a directory of its own beside the final one. An import locks its
// directory; the lock ends with the process. An unfinished store from which an import can continue is used.
#ifndef HEAPSONDE_IMPORT_LEFT_OVER_H
#define HEAPSONDE_IMPORT_LEFT_OVER_H

#include "host/import/resume.h"

#include <limits.h>

#define HS_MAKING_SUFFIX ".XXXXXX" // of mkdtemp

// Call this before the first file is created in the directory.
void hs_left_over__hold(int directory_fd);

// The unfinished store that got furthest.
struct hs_left_over {
    struct hs_resume *resume; // NULL: none
    char path[PATH_MAX];
    int fd; // holds the lock
};
// Finds unfinished stores for this final directory. It uses one of `trace` and removes the others, except those that
// are locked. `trace` NULL: all are removed.
void hs_left_over__take(struct hs_left_over *left, const char *final, const struct hs_trace *trace);
void hs_left_over__free(struct hs_left_over *left, bool removed);

#endif
