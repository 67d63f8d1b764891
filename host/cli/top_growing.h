// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The rows of `top` for a trace file that is being written, without reading it again. Where this cannot be, such as at
// its end or when code was loaded, the trace is asked as a whole.
#ifndef HEAPSONDE_HOST_CLI_TOP_GROWING_H
#define HEAPSONDE_HOST_CLI_TOP_GROWING_H

#include "host/cli/top_model.h"
#include "host/rest/rest.h"

struct hs_top_growing;

// Before the trace is opened. NULL: it is always to be asked as a whole.
struct hs_top_growing *hs_top_growing__create(const char *path, const struct hs_symbols_options *symbols);
void hs_top_growing__free(struct hs_top_growing *growing); // may be NULL

struct hs_top_rows {
    const struct hs_top_known *row;
    size_t count;
    struct hs_top_sums sum;
    uint64_t peak_bytes, time_ns;
    bool is_new; // something happened since the last rows
};

// The rows by what `by` of /totals names, of what happened until shortly before the last call or longer ago; valid
// until the next call. False: ask the trace as a whole, which `rest` has. It is more than one call behind then.
bool hs_top_growing__rows(struct hs_top_growing *growing, struct hs_rest *rest, const char *by, const int *cancel,
                          struct hs_top_rows *rows);

#endif
