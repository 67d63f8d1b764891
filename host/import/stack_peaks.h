// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The most that the heap blocks of each stack had at once, and when that was first so, while events go by. Within a
// nanosecond, as for every question: what is freed goes first, then allocations come in their order, and those that end
// in the same nanosecond end at once.
#ifndef HEAPSONDE_IMPORT_STACK_PEAKS_H
#define HEAPSONDE_IMPORT_STACK_PEAKS_H

#include "host/import/array.h"
#include "host/import/growing.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_stack_state {
    uint64_t live;
    uint64_t most_plus_1; // 0: nothing was allocated yet
    uint64_t time;        // of the most
};

// An allocation of the nanosecond in progress.
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

// Whether the row began in it: then it also ended in it.
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

// The nanosecond in progress is over.
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

// Whether no allocation came in this nanosecond yet. One that is also the nanosecond's last event may be added at once.
static inline bool hs_stack_peaks__is_first(struct hs_stack_peaks *peaks, uint64_t now)
{
    hs_stack_peaks__move_to(peaks, now);
    return !peaks->recent.count;
}

// Rows come in order, and times never go back. `stack` is one of the stacks.
static inline int hs_stack_peaks__begin(struct hs_stack_peaks *peaks, uint64_t now, uint32_t row, uint64_t size,
                                        uint32_t stack)
{
    hs_stack_peaks__move_to(peaks, now);
    struct hs_recent_block *recent = hs_array__add(&peaks->recent, sizeof *recent);
    if (!recent)
        return -ENOMEM;
    // Field by field: put together elsewhere and copied as a whole it would wait for its parts.
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

// Writes the table that hs_store__stack_peaks maps. Returns 0 or a negative errno.
int hs_stack_peaks__write(struct hs_stack_peaks *peaks, int directory_fd);

#endif
