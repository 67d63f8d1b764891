// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the folder of gathered traces is told, and what a trace in it may be doing.
#ifndef HEAPSONDE_HOST_GATHER_TRACE_STATE_H
#define HEAPSONDE_HOST_GATHER_TRACE_STATE_H

#include <stdbool.h>
#include <stdint.h>

struct hs_traces;
struct hs_gathered;

struct hs_traces_options {
    const char *directory;     // made when it is missing
    uint64_t quota;            // bytes in all; UINT64_MAX: none
    uint64_t quota_per_device; // the same
    bool remove_oldest;        // instead of refusing, remove traces that have ended
    // A trace that has ended is on the disk. Called by a thread of its own.
    void (*stored)(void *context, uint64_t claim);
    void *context;
};

enum hs_gathered_state {
    HS_GATHERED_FOUND,   // in the folder, not heard of in this run
    HS_GATHERED_RUNNING, // claimed
    HS_GATHERED_AWAY,    // its connection was lost
    HS_GATHERED_ENDED,
    HS_GATHERED_REFUSED
};

#endif
