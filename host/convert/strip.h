// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A trace without its short-lived blocks, whose sums per stack are kept.
#ifndef HEAPSONDE_HOST_CONVERT_STRIP_H
#define HEAPSONDE_HOST_CONVERT_STRIP_H

#include "host/import/import.h"

#include <stdio.h>

struct hs_strip {
    uint64_t shortest_ns; // blocks that were freed sooner are left out; HS_NEVER: all that were freed
    uint64_t left_out;    // result
};

// `store` is that of the trace at `path`; `out` is seekable. Besides the store, memory holds the blocks that are live.
// Returns 0 or a negative errno with a message.
int hs_strip__write(const char *path, const struct hs_store *store, FILE *out, struct hs_strip *strip,
                    struct hs_error *error);

#endif
