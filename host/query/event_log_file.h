// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What a log of events consists of: event_log_make.c writes it, event_log.c reads it. Not for others, except the
// limits, which tests change.
#ifndef HEAPSONDE_QUERY_EVENT_LOG_FILE_H
#define HEAPSONDE_QUERY_EVENT_LOG_FILE_H

#include "host/query/dictionary.h"

struct hs_event_log {
    const struct hs_dictionary *dictionary;
    uint64_t events;
    struct hs_packed code; // twice the code of the row; one more for a free
    struct hs_packed gap;  // ns since the event before, 0 at the start of a block
    uint64_t *block_time;  // of the first event of each block
    size_t blocks;
    // The live rows of each code at the start of every `every`-th stretch.
    uint32_t *there;
    size_t every, checkpoints, checkpoint_room;
    bool has_vast_sizes;
};

// Events are summed up in stretches, on several threads. There are no more than two events for each row: a zone's share
// of a scan is a stretch.
enum { HS_STRETCH_EVENTS = 2 * HS_ZONE_ROWS };

// Tests change them.
struct hs_event_log_limits {
    size_t there;   // counts of live rows that are kept
    uint64_t share; // one in this many rows has to match
    uint64_t vast;  // rows of this size or more are not summed up along the log; at most 2^40
};
extern struct hs_event_log_limits hs_event_log_limits;

// Sizes of a block's events are added up as floating-point numbers, which know 53 bits.
static inline bool hs_event_log__is_vast(const struct hs_code *code)
{
    return code->size >= hs_event_log_limits.vast;
}

#endif
