// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Findings on the command line: --suppressions, and findings(...) in conditions.
#ifndef HEAPSONDE_HOST_CLI_FINDINGS_H
#define HEAPSONDE_HOST_CLI_FINDINGS_H

#include "host/cli/subject.h"
#include "host/filter/condition.h"
#include "host/findings/findings.h"
#include "host/findings/slopes.h"
#include "host/findings/suppressions.h"

// What --suppressions names; NULL without it. Returns 0, or prints a message and returns the exit status.
int hs_suppressions_option__read(struct hs_suppressions **suppressions, const struct hs_arguments *arguments);

// The findings of a trace, for the filters of the command. A dump has none: -ENOTSUP.
int hs_opened__find(const struct hs_opened *opened, const struct hs_suppressions *suppressions,
                    struct hs_findings *findings, struct hs_error *error);

// The same for report --growth.
int hs_opened__find_growing(const struct hs_opened *opened, size_t most, struct hs_slopes *growing,
                            struct hs_error *error);

// Words of findings(...): kinds, and the least confidence, which is `likely` if it is not given.
int hs_findings_words__check(const struct hs_condition *condition, struct hs_error *error); // 0 or -EINVAL
// How many of the findings they select; without a kind: all kinds.
uint64_t hs_findings_words__count(const struct hs_findings *findings, const char *words);

#define HS_SUPPRESSIONS_OPTION                                                                                         \
    {                                                                                                                  \
        .name = "suppressions", .kind = HS_OPTION_FILE, .argument = "FILE",                                            \
        .help = "leave out findings that this file names, in LeakSanitizer's syntax: a line is leak:PATTERN, or "      \
                "KIND:PATTERN for one kind"                                                                            \
    }

#endif
