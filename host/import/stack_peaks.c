// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/import/stack_peaks.h"

#include "host/base/search.h"
#include "host/store/packed.h"
#include "host/store/store.h"

#include <errno.h>

int hs_stack_peaks__create(struct hs_stack_peaks *peaks, size_t stacks)
{
    *peaks = (struct hs_stack_peaks){.stacks = stacks ? stacks : 1};
    // Events go all over it: large pages.
    int failed = hs_growing__reserve(&peaks->memory, peaks->stacks * sizeof *peaks->state);
    peaks->state = peaks->memory.data;
    return failed;
}

void hs_stack_peaks__free(struct hs_stack_peaks *peaks)
{
    hs_growing__free(&peaks->memory);
    free(peaks->recent.data);
    *peaks = (struct hs_stack_peaks){0};
}

bool hs_stack_peaks__end_recent(struct hs_stack_peaks *peaks, uint32_t row)
{
    struct hs_recent_block *recent = peaks->recent.data;
    size_t low = HS_SEARCH(peaks->recent.count, i, recent[i].row < row);
    bool found = low < peaks->recent.count && recent[low].row == row;
    if (found)
        recent[low].ended = true;
    return found;
}

// For each block of stacks their bytes and their times.
int hs_stack_peaks__write(struct hs_stack_peaks *peaks, int directory_fd)
{
    struct hs_packed_writer writer;
    uint64_t bytes[HS_PACKED_BLOCK], time[HS_PACKED_BLOCK];
    int failed = hs_packed_writer__create(&writer, directory_fd, "stack_peaks");
    hs_stack_peaks__settle(peaks);
    for (size_t first = 0; !failed && first < peaks->stacks; first += HS_PACKED_BLOCK) {
        for (size_t i = 0; i < HS_PACKED_BLOCK; i++) {
            const struct hs_stack_state none = {0};
            const struct hs_stack_state *state = first + i < peaks->stacks ? &peaks->state[first + i] : &none;
            bytes[i] = state->most_plus_1 ? state->most_plus_1 - 1 : 0;
            time[i] = state->time;
        }
        hs_packed_writer__add(&writer, bytes, HS_PACKED_BLOCK);
        hs_packed_writer__add(&writer, time, HS_PACKED_BLOCK);
    }
    if (!failed)
        return hs_packed_writer__finish(&writer);
    hs_packed_writer__abandon(&writer);
    return failed;
}
