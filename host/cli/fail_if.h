// SPDX-License-Identifier: MIT OR Apache-2.0
//
// --fail-if of report, run and diff: conditions on totals. If one holds, the command fails, for continuous integration.
#ifndef HEAPSONDE_HOST_CLI_FAIL_IF_H
#define HEAPSONDE_HOST_CLI_FAIL_IF_H

#include "host/cli/findings.h"
#include "host/cli/subject.h"
#include "host/cli/verdict.h"
#include "host/filter/condition.h"

struct hs_fail_if {
    struct hs_condition **condition;
    size_t count;
    struct hs_suppressions *suppressions; // NULL: none
};

// Parses every --fail-if and --suppressions. Returns 0, or prints a message and returns the exit status.
int hs_fail_if__read(struct hs_fail_if *fail_if, const struct hs_arguments *arguments);
void hs_fail_if__free(struct hs_fail_if *fail_if);

// Prints a message for each condition that holds. Returns HS_EXIT_CONDITION if one holds; else HS_EXIT_FAILURE if one
// names a function, file or library that is in no stack, unless --fail-if-missing=ok. With `verdicts`, the result of
// each condition is added to them, and the message also names the call site with the largest part.
int hs_fail_if__check(const struct hs_fail_if *fail_if, const struct hs_arguments *arguments, struct hs_opened *opened,
                      struct hs_verdicts *verdicts);

// `example` is a string literal.
#define HS_CONDITION_OPTIONS_LIKE(example)                                                                             \
    {.name = "fail-if",                                                                                                \
     .kind = HS_OPTION_TEXT,                                                                                           \
     .argument = "CONDITION",                                                                                          \
     .help = "end with status 3 and a message if this condition holds, such as " example "; see docs/filters.md",      \
     .repeatable = true},                                                                                              \
        HS_VERDICT_OPTIONS,                                                                                            \
    {                                                                                                                  \
        .name = "fail-if-missing", .kind = HS_OPTION_CHOICE, .argument = "WHAT", .choices = "fail ok",                 \
        .help = "if a condition names a function, file or library that is in no stack: end with status 1, or count "   \
                "it as 0; default fail"                                                                                \
    }

#define HS_FAIL_IF_OPTIONS                                                                                             \
    HS_CONDITION_OPTIONS_LIKE("'live_bytes(function=~\"cache\") > 10M or peak_count >= 1000'"), HS_SUPPRESSIONS_OPTION

#endif
