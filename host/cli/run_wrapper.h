// SPDX-License-Identifier: MIT OR Apache-2.0
//
// `run --wrapper`: what stands before the tests of a build, whose lines nobody types.
#ifndef HEAPSONDE_HOST_CLI_RUN_WRAPPER_H
#define HEAPSONDE_HOST_CLI_RUN_WRAPPER_H

#include "host/cli/command.h"

struct hs_program;

// Whether there are options in HEAPSONDE_RUN_OPTIONS that were not taken yet.
bool hs_run_wrapper__has_more(const struct hs_arguments *arguments);

// Takes them, those on the line behind them, and goes on with `run`. Returns its exit status.
int hs_run_wrapper__with_more(const struct hs_arguments *arguments, int (*run)(const struct hs_arguments *arguments));

// Becomes the program, as it is. Returns the exit status when that fails.
int hs_run_wrapper__run_unrecorded(const struct hs_arguments *arguments, const struct hs_program *program);

#endif
