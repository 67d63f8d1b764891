// SPDX-License-Identifier: MIT OR Apache-2.0
//
// run --on: runs a program on another machine and receives its trace while it runs.
#ifndef HEAPSONDE_HOST_CLI_RUN_ON_H
#define HEAPSONDE_HOST_CLI_RUN_ON_H

#include "host/cli/command.h"
#include "host/cli/run_summary.h"

enum { HS_EXIT_NO_CONNECTION = 255 };

// Runs the operands on the machine that --on names, with this process's standard streams. The trace is written to
// `recording->pattern`. Returns 0 and fills `recording` if the program ran and has ended; else prints a message and
// returns the exit status.
int hs_run_on(const struct hs_arguments *arguments, struct hs_recording *recording);

#endif
