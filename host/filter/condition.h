// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Conditions on totals, for continuous integration: live_bytes(function=~"cache") > 10M and peak_count < 1000
//
//   condition   the logic of host/filter/logic.h; a part of it is:  side OPERATOR side
//   OPERATOR    > >= < <= == !=
//   side        TOTAL [ "(" [ expression ] ")" ] | "findings" [ "(" [ WORD { "," WORD } ] ")" ] | NUMBER
//   expression  filters, as host/filter/expression.h has them
//   NUMBER      as the total on the other side has it: 10M of bytes, 1000 of blocks
#ifndef HEAPSONDE_FILTER_CONDITION_H
#define HEAPSONDE_FILTER_CONDITION_H

#include "host/filter/filter.h"
#include "host/filter/logic.h"

#define HS_CONDITION_LONGEST HS_READER_LONGEST
#define HS_CONDITION_DEEPEST HS_READER_DEEPEST

// X(identifier, name, whether it is bytes, what it is)
#define HS_CONDITION_TOTALS(X)                                                                                         \
    X(LIVE_BYTES, "live_bytes", true, "never freed")                                                                   \
    X(LIVE_COUNT, "live_count", false, "never freed")                                                                  \
    X(PEAK_BYTES, "peak_bytes", true, "there when the whole heap was largest")                                         \
    X(PEAK_COUNT, "peak_count", false, "there when the whole heap was largest")                                        \
    X(MAX_BYTES, "max_bytes", true, "the most that was there at once")                                                 \
    X(ALLOCATED_BYTES, "allocated_bytes", true, "allocated in all")                                                    \
    X(ALLOCATED_COUNT, "allocated_count", false, "allocated in all")                                                   \
    X(TEMPORARY_BYTES, "temporary_bytes", true, "freed by the very next call")                                         \
    X(TEMPORARY_COUNT, "temporary_count", false, "freed by the very next call")                                        \
    X(FREED_BYTES, "freed_bytes", true, "freed")                                                                       \
    X(FREED_COUNT, "freed_count", false, "freed")                                                                      \
    X(GROWN_BYTES, "grown_bytes", true, "more than before, of a difference")                                           \
    X(GROWN_COUNT, "grown_count", false, "more than before, of a difference")                                          \
    X(SHRUNK_BYTES, "shrunk_bytes", true, "less than before, of a difference")                                         \
    X(SHRUNK_COUNT, "shrunk_count", false, "less than before, of a difference")                                        \
    X(FINDINGS, "findings", false, "findings")

enum hs_condition_total {
#define HS_CONDITION_ID(id, name, is_bytes, help) HS_CONDITION_##id,
    HS_CONDITION_TOTALS(HS_CONDITION_ID)
#undef HS_CONDITION_ID
        HS_CONDITION_TOTAL_COUNT
};

const char *hs_condition_total__name(enum hs_condition_total total);
bool hs_condition_total__is_bytes(enum hs_condition_total total);
static inline bool hs_condition_total__is_difference(enum hs_condition_total total)
{
    return total >= HS_CONDITION_GROWN_BYTES && total <= HS_CONDITION_SHRUNK_COUNT;
}

struct hs_condition;

// NULL with the place and the reason in `error`.
struct hs_condition *hs_condition__parse(const char *text, struct hs_error *error);
void hs_condition__free(struct hs_condition *condition);

// Asks for a total of what the filter matches; for `findings`, `words` is what is in the parentheses, with commas.
// Returns 0 or a negative errno with `error` filled.
typedef int (*hs_condition_ask)(void *context, enum hs_condition_total total, const struct hs_filter_parameters *filter,
                                const char *words, uint64_t *value, struct hs_error *error);
// The words of the n-th `findings`; NULL: there are no more.
const char *hs_condition__findings(const struct hs_condition *condition, size_t n);

// Returns 1 when the condition holds, 0 when it does not, or a negative errno. Every side is asked for.
int hs_condition__evaluate(struct hs_condition *condition, hs_condition_ask ask, void *context, struct hs_error *error);

// After the evaluation: the comparisons that made the condition hold.
struct hs_comparison {
    const char *text; // as it was given
    size_t length;
    bool holds; // below `not` it does not
    bool is_bytes;
    uint64_t left, right;
};
size_t hs_condition__reasons(const struct hs_condition *condition, struct hs_comparison *reasons, size_t most);

#endif
