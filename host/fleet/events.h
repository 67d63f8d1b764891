// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Adds up a trace of events as a process in aggregate mode does: blocks of the heap begin and end, and at the end of
// each of some equal parts of its time there is a tick. Memory is needed for the live blocks alone.
#ifndef HEAPSONDE_HOST_FLEET_EVENTS_H
#define HEAPSONDE_HOST_FLEET_EVENTS_H

#include "host/base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct hs_fleet_events {
    uint64_t last_time; // of the trace, in its ticks of the clock
    unsigned parts;     // at least 1
    // A block of this stack begins, or ends. 0, or a negative errno, which ends the replay.
    int (*change)(void *context, uint32_t stack, uint64_t size, bool ends);
    // The same; there are `parts` of them, whatever happens in between.
    int (*tick)(void *context, uint64_t time);
    void *context;
};

enum { HS_FLEET_BLOCKS = 1 << 24 }; // that may be live at once

// *damaged: parts of the trace that could not be decoded. 0, or a negative errno: of the functions, of the file,
// -E2BIG: too many live blocks.
int hs_fleet_events__replay(const char *path, const struct hs_fleet_events *events, uint64_t *damaged,
                            struct hs_error *error);

#endif
