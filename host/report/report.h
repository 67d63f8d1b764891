// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The report of a trace: as text for people, as JSON for programs.
#ifndef HEAPSONDE_HOST_REPORT_REPORT_H
#define HEAPSONDE_HOST_REPORT_REPORT_H

#include "host/query/query.h"
#include "host/report/cost.h"
#include "host/symbols/trace_symbols.h"

#include <stdio.h>

// What is reported on: a store, its symbols and the answers for the rows that were asked for.
struct hs_subject {
    const struct hs_store *store;
    struct hs_trace_symbols *symbols;
    struct hs_totals totals;
    struct hs_live_total peak;
    uint64_t peak_time;
    const char *restriction; // what was asked for, as the user gave it; NULL: everything
    const char *path;        // of the trace
};

struct hs_report_options {
    unsigned top;  // call sites shown of each kind
    bool one_cost; // only by `cost`
    enum hs_cost cost;
    bool full_stacks;
    double least_percent; // of the tree
    bool inverted;        // of the tree
};

// Each returns 0 or -ENOMEM.
int hs_report__text(FILE *out, const struct hs_subject *subject, const struct hs_report_options *options);
int hs_report__tree(FILE *out, const struct hs_subject *subject, const struct hs_report_options *options);
int hs_report__json(FILE *out, const struct hs_subject *subject, const struct hs_report_options *options);

// The parts of the text report.
void hs_report__summary(FILE *out, const struct hs_subject *subject);

// How the trace names things.
const char *hs_arch_name(const struct hs_summary *summary);  // x86_64, aarch64, arm, mips64, ...
const char *hs_arch_words(const struct hs_summary *summary); // for people: amd64, "mips64, big-endian"
const char *hs_program_name(const struct hs_store *store);   // the executable's path, "" when unknown
void hs_command_line(const struct hs_store *store, char *text, size_t size);
const char *hs_drop_reason(unsigned reason);      // short, for JSON: "buffer"
const char *hs_drop_explanation(unsigned reason); // for people
const char *hs_truncation_name(unsigned reason);  // short, for JSON: "no_rule"

#endif
