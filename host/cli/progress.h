// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A line on standard error that says how far something is, for what takes longer than a second, on a terminal only.
#ifndef HEAPSONDE_HOST_CLI_PROGRESS_H
#define HEAPSONDE_HOST_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct hs_progress {
    const char *what; // "reading trace.dat"
    bool bytes;       // the numbers are bytes
    bool terminal;
    bool shown;
    bool began;
    uint64_t first; // what was done already at the first update: an import that continues
    uint64_t start_ns;
    uint64_t last_ns;
};

void hs_progress__start(struct hs_progress *progress, const char *what, bool bytes);
// Fits the callbacks of import and query: `context` is the struct.
void hs_progress__update(void *context, uint64_t done, uint64_t total);
void hs_progress__end(struct hs_progress *progress);

#endif
