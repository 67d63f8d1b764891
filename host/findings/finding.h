// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What findings are: their kinds, and what they say.
#ifndef HEAPSONDE_HOST_FINDINGS_FINDING_H
#define HEAPSONDE_HOST_FINDINGS_FINDING_H

#include "host/query/query.h"
#include "host/query/stack_totals_column.h"
#include "host/symbols/trace_symbols.h"

// How sure it is that something is worth changing.
enum hs_confidence { HS_CONFIDENCE_LOOK, HS_CONFIDENCE_LIKELY, HS_CONFIDENCE_SURE };
const char *hs_confidence__name(enum hs_confidence confidence);

// What a finding costs. Worse ones come first in the list.
enum hs_harm {
    HS_HARM_GROWS, // memory that becomes more and more
    HS_HARM_TAKES, // memory
    HS_HARM_TIME,  // time, and little memory
    HS_HARM_NONE   // usually nothing
};

struct hs_findings_scene;

struct hs_finding_kind {
    const char *id;     // in suppressions, conditions and JSON
    const char *title;  // a few words
    const char *advice; // what people usually do; a finding may have a better one
    enum hs_harm harm;
    // Adds what it finds. Returns 0 or a negative errno with the error of the scene set.
    int (*find)(struct hs_findings_scene *scene);
};
extern const struct hs_finding_kind hs_finding_kinds[];              // an entry without id ends it
const struct hs_finding_kind *hs_finding_kind__find(const char *id); // NULL: there is none

struct hs_finding {
    const struct hs_finding_kind *kind;
    enum hs_confidence confidence;
    char *text;         // what was found
    char *reason;       // the numbers that it follows from
    const char *advice; // NULL when it is added: that of its kind
    uint64_t bytes, count;
    uint64_t whole_bytes; // what `bytes` is a part of; 0: nothing
    const char *whole;    // what that is: "the memory that is live at the end"
    uint32_t stack;       // one of the stacks that it is about; 0: it is about the whole program
    char *query;          // parameters of the server and, as options, of the report, that select what it is about
    char *suppression;    // a line that suppresses it; NULL: it is about the whole program
    const char *view;     // the view of the page that shows it
    bool first;           // the other findings may be wrong or missing because of it: it comes first
};

struct hs_findings {
    struct hs_finding *finding; // the most important one first
    size_t count;
    // Not listed: below 1 % of the whole or 64 KiB; and suppressed by the user.
    uint64_t small_count, small_bytes;
    uint64_t suppressed_count, suppressed_bytes;
};

struct hs_suppressions;

struct hs_findings_question {
    const struct hs_store *store;
    struct hs_trace_symbols *symbols;
    const struct hs_filter *filter; // NULL: the heap
    bool restricted;                // the filter restricts something
    const struct hs_query_control *control;
    const struct hs_suppressions *suppressions; // NULL: none
    struct hs_live_total peak;                  // of what matches
    uint64_t peak_time;
    // Visits the totals of all stacks that match.
    int (*each)(void *context, hs_total_visitor visit, void *visitor);
    void *context;
};

#endif
