// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What imports that were killed left behind: a store in the making, in a directory of its own beside the final one. Who
// makes one holds a lock of its directory, which ends with the process. What can be gone on from is taken over.
#ifndef HEAPSONDE_IMPORT_LEFT_OVER_H
#define HEAPSONDE_IMPORT_LEFT_OVER_H

#include "host/import/resume.h"

#include <limits.h>

#define HS_MAKING_SUFFIX ".XXXXXX" // of mkdtemp

// To be called before the first file is made in the directory.
void hs_left_over__hold(int directory_fd);

// The one that went furthest.
struct hs_left_over {
    struct hs_resume *resume; // NULL: there is none
    char path[PATH_MAX];
    int fd; // holds the lock
};
// Of those of the store whose final directory this is, one of `trace` is taken and the others are removed, but not what
// somebody is still making. `trace` NULL: all are removed.
void hs_left_over__take(struct hs_left_over *left, const char *final, const struct hs_trace *trace);
void hs_left_over__free(struct hs_left_over *left, bool removed);

#endif
