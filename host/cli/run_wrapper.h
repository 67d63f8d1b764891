// SPDX-License-Identifier: MIT OR Apache-2.0
//
// run --wrapper: a build tool puts this before the commands of its tests.
#ifndef HEAPSONDE_HOST_CLI_RUN_WRAPPER_H
#define HEAPSONDE_HOST_CLI_RUN_WRAPPER_H

#include "host/cli/command.h"

struct hs_program;

// Whether HEAPSONDE_RUN_OPTIONS has options that were not read yet.
bool hs_run_wrapper__has_more(const struct hs_arguments *arguments);

// Reads them before those of the command line, and calls `run` with both. Returns its exit status.
int hs_run_wrapper__with_more(const struct hs_arguments *arguments, int (*run)(const struct hs_arguments *arguments));

// Executes the program without recording it. Returns only if this fails, with the exit status.
int hs_run_wrapper__run_unrecorded(const struct hs_arguments *arguments, const struct hs_program *program);

#endif
