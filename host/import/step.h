// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What a replay hands on.
#ifndef HEAPSONDE_IMPORT_STEP_H
#define HEAPSONDE_IMPORT_STEP_H

#include "format/event_codec.h"
#include "host/import/import.h"

struct hs_step {
    uint64_t time;    // recorded time; never goes back within a stream
    uint64_t address; // of the block; of the old one where a realloc begins
    uint64_t size, usable;
    const struct hs_event *event; // NULL for what a brief event says
    uint32_t stack, stream;
    uint8_t kind;  // enum hs_event_kind
    uint8_t phase; // HS_PHASE_*
    // For who visits it:
    uint8_t last_of_time;
    uint64_t slot;
};

// hs_trace__replay by steps, some at a time: who visits them can fetch what they will touch before it is needed.
#define HS_STEPS 64 // at most
typedef int (*hs_step_visitor)(void *context, struct hs_step *steps, size_t count);
int hs_trace__replay_steps(const struct hs_trace *trace, hs_step_visitor visit, void *context,
                           struct hs_replay_counts *counts);

#endif
