// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The unit of a replay.
#ifndef HEAPSONDE_IMPORT_STEP_H
#define HEAPSONDE_IMPORT_STEP_H

#include "format/event_codec.h"
#include "host/import/consumed.h"
#include "host/import/import.h"

#define HS_STREAM_BITS  22
#define HS_STREAM_LIMIT (1u << HS_STREAM_BITS) // larger stream numbers are damage; threads are numbered from 0

struct hs_step {
    uint64_t time;    // recorded time; never decreases within a stream
    uint64_t address; // of the block; at the beginning of a realloc, of the old block
    uint64_t size, usable;
    const struct hs_event *event; // NULL for brief events
    uint32_t stack, stream;
    uint8_t kind;  // enum hs_event_kind
    uint8_t phase; // HS_PHASE_*
    // For the visitor:
    uint8_t last_of_time;
    uint64_t slot;
};

// The whole event of an unchanged step. Members that only wide events have are 0 in others.
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

// Like hs_trace__replay, but passes several steps at a time, so that the visitor can prefetch what it needs for them.
#define HS_STEPS 64 // at most
typedef int (*hs_step_visitor)(void *context, struct hs_step *steps, size_t count);
int hs_trace__replay_steps(const struct hs_trace *trace, hs_step_visitor visit, void *context,
                           struct hs_replay_counts *counts);

// Splits a replay into the steps up to a time and the steps after it.
struct hs_replay_cut {
    uint64_t time; // recorded time; HS_NEVER: do not split
    // Also split before that time, each time after this many events, or half of those so far if that is more; 0: do
    // not.
    uint64_t every;
    // Called when all steps up to the split have been visited, with how much was read of each chunk. The callee may
    // take ownership of the array. A nonzero result ends the replay.
    int (*reached)(void *context, uint64_t time, struct hs_array *consumed);
    // What an earlier replay had read at its split, which is skipped. (-ESTALE: this replay cannot continue from
    // there.)
    uint64_t before_time;
    const struct hs_consumed *before; // by sequence number
    size_t before_count;
};
int hs_trace__replay_parts(const struct hs_trace *trace, hs_step_visitor visit, void *context,
                           struct hs_replay_counts *counts, const struct hs_replay_cut *cut);

#endif
