// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Rows of /totals: sums of what matches, by a property of the stacks or blocks.
#ifndef HEAPSONDE_HOST_REST_SUM_ROWS_H
#define HEAPSONDE_HOST_REST_SUM_ROWS_H

#include "host/base/hash_index.h"
#include "host/base/json.h"
#include "host/rest/question.h"

enum hs_sum_by {
    HS_SUM_BY_FUNCTION,
    HS_SUM_BY_LIBRARY,
    HS_SUM_BY_SOURCE,
    HS_SUM_BY_LINE,
    HS_SUM_BY_SITE,      // the line that requested the memory, as in reports: allocator frames are skipped
    HS_SUM_BY_REQUESTER, // the innermost function that is neither an allocator's nor the standard library's
    HS_SUM_BY_REQUESTER_LIBRARY,
    HS_SUM_BY_REQUESTER_LINE,
    HS_SUM_BY_THREAD,
    HS_SUM_BY_SIZE,
    HS_SUM_BY_LIFETIME,
    HS_SUM_BY_KIND
};
// Those of frames come first.
#define HS_SUM_BY_FRAME_CHOICES "function library source line site requester requester_library requester_line "
#define HS_SUM_BY_CHOICES       HS_SUM_BY_FRAME_CHOICES "thread size lifetime kind"
// What rows can be sorted by: `part` is self or total.
#define HS_SUM_KEYS(part)                                                                                              \
    part ".live.bytes " part ".live.count " part ".peak.bytes " part ".peak.count " part ".allocated.bytes " part      \
         ".allocated.count " part ".temporary.bytes " part ".temporary.count"

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
    struct hs_hash_index index; // private
};

// Rows of frames: `self` is what they allocated themselves, `total` includes their callees. 0, or a negative errno with
// the question's error set.
int hs_sum_rows__of_frames(struct hs_sum_rows *rows, struct hs_question *question);
// Rows of blocks: self and total are equal.
int hs_sum_rows__of_blocks(struct hs_sum_rows *rows, struct hs_question *question);
void hs_sum_rows__free(struct hs_sum_rows *rows);

#define HS_SUM_COST_PARAMETER                                                                                          \
    {                                                                                                                  \
        .name = "cost", .kind = HS_REST_CHOICE, .choices = "all " HS_COST_CHOICES, .default_value = "all",             \
        .help = "only this cost, which is faster"                                                                      \
    }
// The rows of everything that matches, for the cost that the parameter `cost` names; they are kept until the question
// ends. 0, or a negative errno with the question's error set.
int hs_sum_rows__find(struct hs_question *question, enum hs_sum_by by, const struct hs_sum_rows **rows);
// The values of all costs that the rows have, as an object.
void hs_sum_rows__write(struct hs_json *json, const char *key, const struct hs_sum_rows *rows,
                        const struct hs_value *values);

// One of the sums of a row.
struct hs_sum_key {
    bool of_self, by_count;
    enum hs_cost cost;
};
// Reads a word of HS_SUM_KEYS. false: it is none.
bool hs_sum_key__read(struct hs_sum_key *key, const char *word);
uint64_t hs_sum_key__value(const struct hs_sum_key *key, const struct hs_sum_row *row);

// The kind that a word of HS_SUM_BY_CHOICES names.
enum hs_sum_by hs_sum_by__parse(const char *word);
// The frame of a stack that its own sum belongs to; NULL: none.
const struct hs_frame *hs_sum_by__frame(enum hs_sum_by by, struct hs_trace_symbols *symbols, uint32_t stack);
// Its name in answers.
const char *hs_sum_by__name(enum hs_sum_by by, const struct hs_frame *frame);
// Whether frames of different lines are different rows.
bool hs_sum_by__has_line(enum hs_sum_by by);
// What makes frames one row: equal texts are equal pointers (NULL: in no row), and a number.
const char *hs_sum_by__text(enum hs_sum_by by, const struct hs_frame *frame);
uint64_t hs_sum_by__number(enum hs_sum_by by, const struct hs_frame *frame);

#endif
