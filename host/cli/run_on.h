// SPDX-License-Identifier: MIT OR Apache-2.0
//
// run --on: the program is on another machine, its trace comes here while it runs.
#ifndef HEAPSONDE_HOST_CLI_RUN_ON_H
#define HEAPSONDE_HOST_CLI_RUN_ON_H

#include "host/cli/command.h"
#include "host/cli/run_summary.h"

enum { HS_EXIT_NO_CONNECTION = 255 };

// Runs the operands on the machine that --on names, with this process's standard streams. The trace is written to
// `recording->pattern`. Returns 0 with `recording` filled when there was a program that has ended, else the exit status
// after a line on standard error.
int hs_run_on(const struct hs_arguments *arguments, struct hs_recording *recording);

#endif
