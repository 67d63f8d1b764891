// SPDX-License-Identifier: MIT OR Apache-2.0
//
// run --follow-children=trace.
#ifndef HEAPSONDE_HOST_CLI_RUN_FOLLOW_H
#define HEAPSONDE_HOST_CLI_RUN_FOLLOW_H

#include "host/cli/child.h"
#include "host/cli/command.h"

bool hs_run_follow__is_wanted(const struct hs_arguments *arguments);

// Whether it can be done with the other options, on this machine. False: it is said on standard error.
bool hs_run_follow__is_possible(const struct hs_arguments *arguments);

// Runs a program as hs_child__run does, and records it and all that it executes and starts. `passes_to`: see struct
// hs_follow_wish. -ENOTSUP: it may not be traced, which is said on standard error.
int hs_run_follow__run(const struct hs_arguments *arguments, struct hs_child *child, const char *path, char **words,
                       const char *library, const char *passes_to);

#endif
