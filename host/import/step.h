// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What a replay hands on: in chunks, events of half a cache line; one after the other, steps.
#ifndef HEAPSONDE_IMPORT_STEP_H
#define HEAPSONDE_IMPORT_STEP_H

#include "host/import/import.h"

// What nearly all events are: one thread writes them and another reads them, so that each byte counts.
struct hs_brief_event {
    uint64_t time, address;
    uint32_t size, usable;
    uint32_t stack;
    uint8_t kind; // HS_EVENT_FREE to HS_EVENT_ALIGNED, or HS_BRIEF_WIDE: `size` is the number of a whole event
};
#define HS_BRIEF_WIDE 255

struct hs_step {
    uint64_t time;    // recorded time; never goes back within a stream
    uint64_t address; // of the block; of the old one where a realloc begins
    uint64_t size, usable;
    const struct hs_event *event; // NULL for what a brief event says
    uint32_t stack, stream;
    uint8_t kind;  // enum hs_event_kind
    uint8_t phase; // HS_PHASE_*
};

// hs_trace__replay by steps, some at a time: who visits them can fetch what they will touch before it is needed.
#define HS_STEPS 64 // at most
typedef int (*hs_step_visitor)(void *context, struct hs_step *steps, size_t count);
int hs_trace__replay_steps(const struct hs_trace *trace, hs_step_visitor visit, void *context,
                           struct hs_replay_counts *counts);

#endif
