// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Options of the folder of gathered traces, and the states of a trace.
#ifndef HEAPSONDE_HOST_GATHER_TRACE_STATE_H
#define HEAPSONDE_HOST_GATHER_TRACE_STATE_H

#include <stdbool.h>
#include <stdint.h>

struct hs_traces;
struct hs_gathered;

struct hs_traces_options {
    const char *directory;     // created if it does not exist
    uint64_t quota;            // total bytes; UINT64_MAX: unlimited
    uint64_t quota_per_device; // bytes per device
    bool remove_oldest;        // remove ended traces instead of refusing new ones
    // Called when an ended trace is on the disk, by a thread of its own.
    void (*stored)(void *context, uint64_t claim);
    void *context;
};

enum hs_gathered_state {
    HS_GATHERED_FOUND,   // was already in the folder; no connection in this run
    HS_GATHERED_RUNNING, // a connection has claimed it
    HS_GATHERED_AWAY,    // its connection was lost
    HS_GATHERED_ENDED,
    HS_GATHERED_REFUSED
};

#endif
