// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Which index answers a question. hs_planner__choose decides it for all questions; the caller takes the index from the
// plan. The indexes come from the control of the question. Answers are the same whatever is chosen.
#ifndef HEAPSONDE_QUERY_PLANNER_H
#define HEAPSONDE_QUERY_PLANNER_H

#include "host/query/indexes.h"

enum hs_asked {
    HS_ASKED_TOTALS,
    HS_ASKED_COUNT,
    HS_ASKED_TIMELINE,
    HS_ASKED_PEAK,
    HS_ASKED_ROWS,
    HS_ASKED_PAGE, // + enum hs_row_key
    HS_ASKED_PAGE_END = HS_ASKED_PAGE + HS_ROW_BY_LIFETIME
};

enum hs_answered_by {
    HS_BY_SCAN,
    HS_BY_SUMMARY,
    HS_BY_PYRAMID,
    HS_BY_TICKS,
    HS_BY_STACK_TOTALS,
    HS_BY_ROLLUPS,
    HS_BY_LIFETIME_ROLLUPS,
    HS_BY_DICTIONARY,
    HS_BY_EVENT_LOG,
    HS_BY_SORTED_INDEX,
    HS_BY_PAGE_SCAN,
    HS_BY_RANK_COUNTS,
    HS_BY_SORTED_ROWS,
    HS_BY_ROW_SET,
    HS_BY_SAMPLES,
    HS_BY_CACHE,
    HS_ANSWERED_BY_COUNT
};
// The name in an explanation, and a sentence about it.
const char *hs_answered_by__name(enum hs_answered_by by);
const char *hs_answered_by__meaning(enum hs_answered_by by);

// The source of the answer: only the field that `by` names is set, and for a page the usable parts of its index.
struct hs_plan {
    enum hs_answered_by by;
    const struct hs_packed *stack_totals;
    const struct hs_rollups *rollups;
    const struct hs_dictionary *dictionary;
    const struct hs_event_log *events;
    const struct hs_sorted_index *sorted_index;
    const struct hs_rank_counts *rank_counts;
    struct hs_bounds keys; // of a count by a sorted index
};

// The plan for a question, which is also added to the control's explanation. The filter is not NULL.
struct hs_plan hs_planner__choose(const struct hs_query_control *control, const struct hs_store *store,
                                  const struct hs_filter *filter, enum hs_asked asked);

// hs_query__count by a plan for it; not of a trace of sums.
int hs_query__count_as_planned(const struct hs_store *store, const struct hs_filter *filter,
                               const struct hs_query_control *control, const struct hs_plan *plan, uint64_t *count,
                               struct hs_error *error);

// What answered the parts of a question, in order. Equal ones are counted.
enum { HS_EXPLAINED_MOST = 32 };
struct hs_explained {
    char asked[16];
    enum hs_answered_by by;
    uint64_t times;
};
struct hs_explanation {
    struct hs_explained part[HS_EXPLAINED_MOST];
    size_t count;
    uint64_t more; // parts that found no room
};
// Adds a part, unless the explanation is NULL. The name ends at the first character that is not a letter.
void hs_explanation__add(struct hs_explanation *explanation, const char *asked, enum hs_answered_by by);
// The same for a control that may be NULL.
void hs_query__explain(const struct hs_query_control *control, enum hs_asked asked, enum hs_answered_by by);

#endif
