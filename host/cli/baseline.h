// SPDX-License-Identifier: MIT OR Apache-2.0
//
// run --baseline: what a program has in use at its end, against what it had when a file was written.
#ifndef HEAPSONDE_HOST_CLI_BASELINE_H
#define HEAPSONDE_HOST_CLI_BASELINE_H

#include "host/cli/verdict.h"

#define HS_BASELINE_OPTIONS                                                                                            \
    {.name = "baseline",                                                                                               \
     .kind = HS_OPTION_FILE,                                                                                           \
     .argument = "DUMP",                                                                                               \
     .help = "end with status 3 when a call site has more in use at the end than in this file, which 'heapsonde "      \
             "baseline' writes; any heap dump will do"},                                                               \
        {.name = "tolerance",                                                                                          \
         .kind = HS_OPTION_PERCENT,                                                                                    \
         .argument = "PERCENT",                                                                                        \
         .help = "with --baseline, how much more of what it had a call site may have; 10 when not given"},             \
    {                                                                                                                  \
        .name = "slack", .kind = HS_OPTION_SIZE, .argument = "SIZE",                                                   \
        .help = "with --baseline, how much more it may have besides; 1K when not given"                                \
    }

// Whether the file of --baseline can be read, before a program is run: 0, or an exit status after a line on standard
// error. A pipe is not looked at, because it can be read only once.
int hs_baseline__look(const struct hs_arguments *arguments);

// Compares an opened trace with --baseline and says which call sites grew. Returns HS_EXIT_CONDITION when one did, 0,
// or another exit status after a line on standard error. Nothing without that option.
int hs_baseline__check(const struct hs_arguments *arguments, const struct hs_opened *opened,
                       struct hs_verdicts *verdicts);

#endif
