// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The largest live sum of the heap blocks of each stack, and its first time, computed during the replay. The order
// within a nanosecond is that of all queries: frees first, then allocations in their order. Blocks that end in the
// nanosecond in which they were allocated end at once.
#ifndef HEAPSONDE_IMPORT_STACK_PEAKS_H
#define HEAPSONDE_IMPORT_STACK_PEAKS_H

#include "host/base/array.h"
#include "host/import/growing.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_stack_state {
    uint64_t live;
    uint64_t most_plus_1; // 0: no allocation yet
    uint64_t time;        // of the largest sum
};

// An allocation in the current nanosecond.
struct hs_recent_block {
    uint64_t size;
    uint32_t row, stack;
    bool ended;
};

struct hs_stack_peaks {
    struct hs_stack_state *state; // by stack, in `memory`
    size_t stacks;
    struct hs_growing memory;
    uint64_t now;
    struct hs_array recent; // struct hs_recent_block, by row
};

// Returns 0 or -ENOMEM.
int hs_stack_peaks__create(struct hs_stack_peaks *peaks, size_t stacks);
void hs_stack_peaks__free(struct hs_stack_peaks *peaks);

// Whether the row began in the current nanosecond. Then it also ended in it.
bool hs_stack_peaks__end_recent(struct hs_stack_peaks *peaks, uint32_t row);

static inline void hs_stack_peaks__add(struct hs_stack_peaks *peaks, uint64_t size, uint32_t stack)
{
    struct hs_stack_state *state = &peaks->state[stack];
    state->live += size;
    if (state->live >= state->most_plus_1) {
        state->most_plus_1 = state->live + 1;
        state->time = peaks->now;
    }
}

// The current nanosecond ends.
static inline void hs_stack_peaks__settle(struct hs_stack_peaks *peaks)
{
    const struct hs_recent_block *recent = peaks->recent.data;
    for (size_t i = 0; i < peaks->recent.count; i++) {
        hs_stack_peaks__add(peaks, recent[i].size, recent[i].stack);
        peaks->state[recent[i].stack].live -= recent[i].ended ? recent[i].size : 0;
    }
    peaks->recent.count = 0;
}

static inline void hs_stack_peaks__move_to(struct hs_stack_peaks *peaks, uint64_t now)
{
    if (now != peaks->now)
        hs_stack_peaks__settle(peaks);
    peaks->now = now;
}

// Whether no allocation has come in this nanosecond yet. An allocation that is also the last event of the nanosecond
// may be added at once.
static inline bool hs_stack_peaks__is_first(struct hs_stack_peaks *peaks, uint64_t now)
{
    hs_stack_peaks__move_to(peaks, now);
    return !peaks->recent.count;
}

// Rows are added in order, and times never decrease. `stack` has to be below the limit.
static inline int hs_stack_peaks__begin(struct hs_stack_peaks *peaks, uint64_t now, uint32_t row, uint64_t size,
                                        uint32_t stack)
{
    hs_stack_peaks__move_to(peaks, now);
    struct hs_recent_block *recent = hs_array__add(&peaks->recent, sizeof *recent);
    if (!recent)
        return -ENOMEM;
    // Assigned field by field: copying a temporary struct would stall store forwarding.
    recent->size = size;
    recent->row = row;
    recent->stack = stack;
    recent->ended = false;
    return 0;
}

static inline void hs_stack_peaks__end(struct hs_stack_peaks *peaks, uint64_t now, uint32_t row, uint64_t size,
                                       uint32_t stack)
{
    hs_stack_peaks__move_to(peaks, now);
    if (!peaks->recent.count || !hs_stack_peaks__end_recent(peaks, row))
        peaks->state[stack].live -= size;
}

// Writes the table for hs_store__stack_peaks. Returns 0 or a negative errno.
int hs_stack_peaks__write(struct hs_stack_peaks *peaks, int directory_fd);

#endif
