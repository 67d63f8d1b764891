// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Traces that are still being imported while others are served.
#ifndef HEAPSONDE_HOST_REST_IMPORTING_H
#define HEAPSONDE_HOST_REST_IMPORTING_H

#include "host/base/json.h"
#include "host/query/query.h"

struct hs_importing;

struct hs_importing *hs_importing__create(void); // NULL: out of memory
void hs_importing__destroy(struct hs_importing *importing);

// Adds a path that will be imported, and removes it afterwards. Adding returns 0 or -ENOMEM.
int hs_importing__expect(struct hs_importing *importing, const char *path);
void hs_importing__end(struct hs_importing *importing, const char *path);
bool hs_importing__any(struct hs_importing *importing);

// Returns a control that records the progress for the path and calls `control`. Both must outlive it.
struct hs_importing_one {
    struct hs_importing *importing;
    const char *path;
    const struct hs_query_control *outer; // may be NULL
};
struct hs_query_control hs_importing__control(struct hs_importing_one *one);

// A snapshot of the progress of all imports, as entries of the list, to be written later. NULL: none, or out of memory.
struct hs_importing_rows;
struct hs_importing_rows *hs_importing__rows(struct hs_importing *importing);
// Writes those whose path has not been written already, and frees the snapshot.
void hs_importing_rows__write(struct hs_importing_rows *rows, bool (*is_written)(void *context, const char *path),
                              void *context, struct hs_json *json);

#endif
