// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The report of a trace: as text for people, as JSON for programs.
#ifndef HEAPSONDE_HOST_REPORT_REPORT_H
#define HEAPSONDE_HOST_REPORT_REPORT_H

#include "host/query/query.h"
#include "host/report/cost.h"
#include "host/report/events.h"
#include "host/symbols/trace_symbols.h"

#include <stdio.h>

struct hs_digest;
struct hs_json;
struct hs_subject;

// What is different about a subject that is no trace.
struct hs_subject_kind {
    unsigned costs;         // bit per enum hs_cost: those that are known
    const char *live_title; // what HS_COST_LIVE is there
    bool counts_blocks;     // numbers of blocks are known
    void (*write_summary)(FILE *out, const struct hs_subject *subject);
    void (*write_json)(struct hs_json *json, const struct hs_subject *subject); // members of the open object
};

// What is reported on: a store, its symbols and the answers for the rows that were asked for.
struct hs_subject {
    const struct hs_store *store;
    struct hs_trace_symbols *symbols;
    const struct hs_filter *filter; // the rows that were asked for; NULL: those of the heap, or it is no trace
    struct hs_totals totals;        // of these rows
    enum hs_events events;          // what they are sums of; host/query/event_totals.h says what is where
    const char *not_of_samples;     // what of the filter samples do not have, as the user calls it; NULL: nothing
    struct hs_live_total peak;
    uint64_t peak_time;
    const char *restriction;            // what was asked for, as the user gave it; NULL: everything
    const char *transforms;             // how the stacks were changed, as the user gave it; NULL: they were not
    const char *path;                   // of the trace
    const struct hs_subject_kind *kind; // NULL: a trace
    const void *context;                // of that kind
};

bool hs_subject__knows(const struct hs_subject *subject, enum hs_cost cost);
const char *hs_subject__title(const struct hs_subject *subject, enum hs_cost cost);
// What the sums are, for headings: "memory live at the end", "CPU time".
void hs_subject__heading(const struct hs_subject *subject, enum hs_cost cost, char *text, size_t size);
const struct hs_events_kind *hs_subject__events(const struct hs_subject *subject);
bool hs_subject__counts_blocks(const struct hs_subject *subject);
// What decides which stacks matter: allocated in total, or live where only that is known.
uint64_t hs_subject__bytes(const struct hs_subject *subject, const struct hs_total *total);

struct hs_report_options {
    unsigned top;  // call sites shown of each kind
    bool one_cost; // only by `cost`
    enum hs_cost cost;
    bool full_stacks;
    double least_percent; // of the tree
    bool inverted;        // of the tree
};

// Each returns 0 or -ENOMEM. A digest already has the call sites that are shown, so only the sum of the subject's
// totals is needed. Without one (NULL), it is made, and kept with the store.
int hs_report__text(FILE *out, const struct hs_subject *subject, const struct hs_report_options *options,
                    const struct hs_digest *digest);
int hs_report__tree(FILE *out, const struct hs_subject *subject, const struct hs_report_options *options);
int hs_report__json(FILE *out, const struct hs_subject *subject, const struct hs_report_options *options);

// What the trace of a process that was attached to cannot know, as a clause. False: the process was recorded from its
// start.
bool hs_report__attached(const struct hs_store *store, char *text, size_t size);

// The parts of the text report.
void hs_report__summary(FILE *out, const struct hs_subject *subject, const struct hs_digest *digest);

// Parts of the JSON report of a trace, as members of the open object: the program and all numbers; what is missing of
// its stacks and symbols, which returns 0 or -ENOMEM. Of the first only the sum and the count of the totals are needed.
void hs_report__program_json(struct hs_json *json, const struct hs_subject *subject);
int hs_report__stacks_json(struct hs_json *json, const struct hs_subject *subject);

// How the trace names things.
const char *hs_arch_name(const struct hs_summary *summary);  // x86_64, aarch64, arm, mips64, ...
const char *hs_arch_words(const struct hs_summary *summary); // for people: amd64, "mips64, big-endian"
const char *hs_program_name(const struct hs_store *store);   // the executable's path, "" when unknown
void hs_command_line(const struct hs_store *store, char *text, size_t size);
const char *hs_drop_reason(unsigned reason);      // short, for JSON: "buffer"
const char *hs_drop_explanation(unsigned reason); // for people
const char *hs_drop_unit(unsigned reason);        // what is counted: "events"
const char *hs_truncation_name(unsigned reason);  // short, for JSON: "no_rule"

#endif
