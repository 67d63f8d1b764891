// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Rows of /totals: sums of what matches, by a property of the stacks or blocks.
#ifndef HEAPSONDE_HOST_REST_SUM_ROWS_H
#define HEAPSONDE_HOST_REST_SUM_ROWS_H

#include "host/rest/question.h"

enum hs_sum_by {
    HS_SUM_BY_FUNCTION,
    HS_SUM_BY_LIBRARY,
    HS_SUM_BY_SOURCE,
    HS_SUM_BY_LINE,
    HS_SUM_BY_SITE,      // the line that requested the memory, as in reports: allocator frames are skipped
    HS_SUM_BY_REQUESTER, // the function of that line
    HS_SUM_BY_REQUESTER_LIBRARY,
    HS_SUM_BY_THREAD,
    HS_SUM_BY_SIZE,
    HS_SUM_BY_LIFETIME,
    HS_SUM_BY_KIND
};
#define HS_SUM_BY_CHOICES "function library source line site requester requester_library thread size lifetime kind"

struct hs_sum_row {
    const struct hs_frame *frame; // one of the frames of the row; NULL: a row of blocks
    uint64_t number;              // of a line, thread, power of two, kind
    uint32_t depth;               // rows of frames: the least depth, from 1; else 0
    unsigned inside;              // private
    struct hs_value self[HS_COST_COUNT], total[HS_COST_COUNT];
};

struct hs_sum_rows {
    enum hs_sum_by by;
    unsigned costs; // bit per enum hs_cost: the costs to compute
    bool self_only; // `total` of frames is not needed, which is faster
    struct hs_value sum[HS_COST_COUNT];
    struct hs_sum_row *row;
    size_t count, room;
    // Private: number of a row + 1.
    uint32_t *slot;
    size_t slots;
};

// Rows of frames: `self` is what they allocated themselves, `total` includes their callees. 0, or a negative errno with
// the question's error set.
int hs_sum_rows__of_frames(struct hs_sum_rows *rows, struct hs_question *question);
// Rows of blocks: self and total are equal.
int hs_sum_rows__of_blocks(struct hs_sum_rows *rows, struct hs_question *question);
void hs_sum_rows__free(struct hs_sum_rows *rows);

#endif
