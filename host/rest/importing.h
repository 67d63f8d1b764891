// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The traces that are still to be read, while others are served already.
#ifndef HEAPSONDE_HOST_REST_IMPORTING_H
#define HEAPSONDE_HOST_REST_IMPORTING_H

#include "host/query/query.h"
#include "host/report/json.h"

struct hs_importing;

struct hs_importing *hs_importing__create(void); // NULL: out of memory
void hs_importing__destroy(struct hs_importing *importing);

// A path that is going to be read, and that it has been. 0 or -ENOMEM.
int hs_importing__expect(struct hs_importing *importing, const char *path);
void hs_importing__end(struct hs_importing *importing, const char *path);
bool hs_importing__any(struct hs_importing *importing);

// A control that keeps how far the path is, and calls what `control` calls. It is to outlive neither of them.
struct hs_importing_one {
    struct hs_importing *importing;
    const char *path;
    const struct hs_query_control *outer; // may be NULL
};
struct hs_query_control hs_importing__control(struct hs_importing_one *one);

// How far they are at one time: for each a member of the list, to be written later. NULL: none, or no memory.
struct hs_importing_rows;
struct hs_importing_rows *hs_importing__rows(struct hs_importing *importing);
// Those whose path is not written already; frees them.
void hs_importing_rows__write(struct hs_importing_rows *rows, bool (*is_written)(void *context, const char *path),
                              void *context, struct hs_json *json);

#endif
