// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A timeline with one point for each second since 1970 in which something happened: the values at the end of the
// second. A gap without events has points at its ends.
#ifndef HEAPSONDE_HOST_REST_TIMELINE_SECONDS_H
#define HEAPSONDE_HOST_REST_TIMELINE_SECONDS_H

#include "host/base/json.h"
#include "host/query/query.h"

struct hs_second {
    uint64_t bytes_in, bytes_out, count_in, count_out; // allocated, freed
    uint64_t leaked_bytes, leaked_count;               // allocated and never freed
};

struct hs_seconds {
    uint64_t first; // since 1970
    struct hs_second *second;
    size_t count;
};

// Of the rows in a set; NULL: of the heap. 0 or a negative errno.
int hs_seconds__make(struct hs_seconds *seconds, const struct hs_store *store, const struct hs_filter *filter,
                     const struct hs_query_control *control, struct hs_error *error);
void hs_seconds__free(struct hs_seconds *seconds);

// The indexes of the seconds with a point. The caller frees them; NULL: out of memory.
uint64_t *hs_seconds__points(const bool *active, size_t count, size_t *points);

// Writes members of the open object.
void hs_seconds__write(struct hs_json *json, const struct hs_seconds *seconds);

#endif
