// SPDX-License-Identifier: MIT OR Apache-2.0
//
// run --fail-if: conditions on the trace of a program that has ended.
#ifndef HEAPSONDE_HOST_CLI_RUN_CHECK_H
#define HEAPSONDE_HOST_CLI_RUN_CHECK_H

#include "host/cli/fail_if.h"
#include "host/cli/run_summary.h"

// Before the program is run: whether the conditions can be read. Returns 0, or the exit status after a line on standard
// error.
int hs_run_check__read(const struct hs_arguments *arguments);

// Checks them, and publishes that and whether the program ended with 0. Returns 0, or the exit status after what was
// found was said.
int hs_run_check(const struct hs_arguments *arguments, const struct hs_recording *recording, int status);

#endif
