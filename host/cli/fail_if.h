// SPDX-License-Identifier: MIT OR Apache-2.0
//
// report --fail-if: conditions on totals that a run of continuous integration is not to meet.
#ifndef HEAPSONDE_HOST_CLI_FAIL_IF_H
#define HEAPSONDE_HOST_CLI_FAIL_IF_H

#include "host/cli/subject.h"
#include "host/cli/verdict.h"
#include "host/filter/condition.h"

struct hs_fail_if {
    struct hs_condition **condition;
    size_t count;
};

// Reads every --fail-if. Returns 0, or the exit status after a line on standard error.
int hs_fail_if__read(struct hs_fail_if *fail_if, const struct hs_arguments *arguments);
void hs_fail_if__free(struct hs_fail_if *fail_if);

// Writes a line on standard error for each condition that holds. Returns HS_EXIT_CONDITION when one does, else
// HS_EXIT_FAILURE when one names what is in no stack, unless --fail-if-missing=ok. With `verdicts` it also says where
// most of it was allocated, and they get what came of each condition.
int hs_fail_if__check(const struct hs_fail_if *fail_if, const struct hs_arguments *arguments, struct hs_opened *opened,
                      struct hs_verdicts *verdicts);

#define HS_FAIL_IF_OPTIONS                                                                                             \
    {.name = "fail-if",                                                                                                \
     .kind = HS_OPTION_TEXT,                                                                                           \
     .argument = "CONDITION",                                                                                          \
     .help = "end with status 3 and a message if this condition holds, such as 'live_bytes(function=~\"cache\") > "    \
             "10M or peak_count >= 1000'; see docs/filters.md",                                                        \
     .repeatable = true},                                                                                              \
        HS_VERDICT_OPTIONS,                                                                                            \
    {                                                                                                                  \
        .name = "fail-if-missing", .kind = HS_OPTION_CHOICE, .argument = "WHAT", .choices = "fail ok",                 \
        .help = "if a condition names a function, file or library that is in no stack: end with status 1, or count "   \
                "it as 0; default fail"                                                                                \
    }

#endif
