// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What a replay hands on.
#ifndef HEAPSONDE_IMPORT_STEP_H
#define HEAPSONDE_IMPORT_STEP_H

#include "format/event_codec.h"
#include "host/import/consumed.h"
#include "host/import/import.h"

#define HS_STREAM_BITS  22
#define HS_STREAM_LIMIT (1u << HS_STREAM_BITS) // a larger stream number is damage; threads are numbered from 0

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
    uint8_t later; // than the step before, by recorded time
    uint64_t slot;
};

// The whole event, for a step that was not changed. What only a wide one says is 0 in others.
static inline struct hs_event hs_step__event(const struct hs_step *step)
{
    if (step->event)
        return *step->event;
    return (struct hs_event){.time = step->time,
                             .address = step->address,
                             .size = step->size,
                             .usable = step->usable,
                             .stack = step->stack,
                             .kind = step->kind};
}

// hs_trace__replay by steps, some at a time: who visits them can fetch what they will touch before it is needed.
#define HS_STEPS 64 // at most
typedef int (*hs_step_visitor)(void *context, struct hs_step *steps, size_t count);
int hs_trace__replay_steps(const struct hs_trace *trace, hs_step_visitor visit, void *context,
                           struct hs_replay_counts *counts);

// Where a replay is cut: between the steps up to a time and those behind it.
struct hs_replay_cut {
    uint64_t time;  // recorded time; HS_NEVER: nowhere
    uint64_t every; // before that time also each time as many events went by, or half as many as before; 0: not
    // Called when all steps up to a cut's time were visited, with what was taken of each chunk; whoever keeps it may
    // take the array away. Another result than 0 stops the replay.
    int (*reached)(void *context, uint64_t time, struct hs_array *consumed);
    // What an earlier replay took up to its own cut: left out. (-ESTALE where this one cannot go on from there.)
    uint64_t before_time;
    const struct hs_consumed *before; // by sequence number
    size_t before_count;
};
int hs_trace__replay_parts(const struct hs_trace *trace, hs_step_visitor visit, void *context,
                           struct hs_replay_counts *counts, const struct hs_replay_cut *cut);

#endif
