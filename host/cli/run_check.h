// SPDX-License-Identifier: MIT OR Apache-2.0
//
// run --fail-if: conditions on the trace of a program that has ended.
#ifndef HEAPSONDE_HOST_CLI_RUN_CHECK_H
#define HEAPSONDE_HOST_CLI_RUN_CHECK_H

#include "host/cli/fail_if.h"
#include "host/cli/run_summary.h"

// Checks the conditions for errors before the program runs. Returns 0, or prints a message and returns the exit status.
int hs_run_check__read(const struct hs_arguments *arguments);

// Evaluates the conditions after the program has ended, and publishes the results of both.
// Returns 0, or prints a message and returns the exit status.
int hs_run_check(const struct hs_arguments *arguments, const struct hs_recording *recording);

// Publishes one failure, of a program that could not be run or whose end is not known. Returns 0, or prints a message
// and returns the exit status.
int hs_run_check__failed(const struct hs_arguments *arguments, const struct hs_recording *recording,
                         const char *reason);

#endif
