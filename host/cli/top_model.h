// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Who grows and who churns: rows of two answers to the same question, compared with those of the answer before and with
// those of a mark.
#ifndef HEAPSONDE_HOST_CLI_TOP_MODEL_H
#define HEAPSONDE_HOST_CLI_TOP_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hs_top_sort { HS_TOP_GREW, HS_TOP_LIVE, HS_TOP_CHURN, HS_TOP_CALLS, HS_TOP_NAME, HS_TOP_SORT_COUNT };

struct hs_top_sums {
    uint64_t live_bytes, live_count, all_bytes, all_count;
};

struct hs_top_row {
    char *name; // safe to print
    struct hs_top_sums now, before, marked;
    double bytes_per_second, blocks_per_second; // allocated since the answer before
    bool is_there;                              // in the last answer
};

struct hs_top_model {
    struct hs_top_row *row; // by name
    size_t count, room;
    uint64_t time_ns, marked_ns; // of the trace
    struct hs_top_sums sum, marked;
    double bytes_per_second, blocks_per_second;
    bool has_answer;
    // private
    size_t *shown;
    size_t shown_count;
};

void hs_top_model__free(struct hs_top_model *model);

// Takes an answer of /totals (changed) that was true at this time of the trace. The first one is the mark, too. 0,
// -ENOMEM, or -EINVAL if it is no such answer.
int hs_top_model__take(struct hs_top_model *model, char *totals, uint64_t time_ns);
// A row of which all sums are known.
struct hs_top_known {
    const char *name;
    struct hs_top_sums sums;
};
// The same as hs_top_model__take, of such rows. `sum`: of everything.
int hs_top_model__take_known(struct hs_top_model *model, const struct hs_top_known *rows, size_t count,
                             const struct hs_top_sums *sum, uint64_t time_ns);
// The name of a row: "name (library)", of a line "file:line". `library` may be "", `line` NULL. Names are hostile, the
// result is safe to print and to be freed. NULL: out of memory.
char *hs_top_name(const char *key, const char *library, const char *line);
// Nothing happened since the last answer.
void hs_top_model__rest(struct hs_top_model *model);
// What grew is counted from here.
void hs_top_model__mark(struct hs_top_model *model);

// The rows that contain the text, in upper or lower case, in this order; valid until the next call. 0 or -ENOMEM.
int hs_top_model__list(struct hs_top_model *model, enum hs_top_sort sort, const char *contains, const size_t **rows,
                       size_t *count);

int64_t hs_top_row__grew(const struct hs_top_row *row);

// How long to wait for the next refresh, all in ns, if this one `used` the processor for that long: at least `every`. A
// refresh that would take more than 2 % of a processor waits longer, up to 5 seconds.
uint64_t hs_top_pause(uint64_t every, uint64_t used);

#endif
