// SPDX-License-Identifier: MIT OR Apache-2.0
//
// --baseline of run and report: compares what a program has in use at its end with a file that was written earlier.
#ifndef HEAPSONDE_HOST_CLI_BASELINE_H
#define HEAPSONDE_HOST_CLI_BASELINE_H

#include "host/cli/verdict.h"

#define HS_BASELINE_OPTIONS                                                                                            \
    {.name = "baseline",                                                                                               \
     .kind = HS_OPTION_FILE,                                                                                           \
     .argument = "DUMP",                                                                                               \
     .help = "end with status 3 if a call site has more in use at the end than in this file; 'heapsonde baseline' "    \
             "writes such files, and any heap dump can be used"},                                                      \
        {.name = "tolerance",                                                                                          \
         .kind = HS_OPTION_PERCENT,                                                                                    \
         .argument = "PERCENT",                                                                                        \
         .help = "with --baseline, how many percent more a call site may have; default 10"},                           \
    {                                                                                                                  \
        .name = "slack", .kind = HS_OPTION_SIZE, .argument = "SIZE",                                                   \
        .help = "with --baseline, how many bytes more a call site may have, in addition to --tolerance; default 1K"    \
    }

// Whether the options are complete and the file of --baseline can be read, before a program is run: 0, or an exit
// status after a line on standard error. A pipe is not looked at, because it can be read only once.
int hs_baseline__look(const struct hs_arguments *arguments);

// Compares an opened trace with --baseline and prints which call sites grew. Returns 0, HS_EXIT_CONDITION if one grew,
// or another exit status after a message. Without the option it does nothing.
int hs_baseline__check(const struct hs_arguments *arguments, const struct hs_opened *opened,
                       struct hs_verdicts *verdicts);

#endif
