// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Sends the names of a process's run-time code through standard output: for each file a line "file PID CUT SIZE" and so
// many bytes, which are its name with its NUL and its contents; then a line "refused COUNT". CUT is 1 if a part is
// missing.
#ifndef HEAPSONDE_HOST_ONBOARD_NAMES_H
#define HEAPSONDE_HOST_ONBOARD_NAMES_H

#include "host/symbols/jit_source.h"

void hs_names__send(const struct hs_jit_process *process);

// Of processes that have ended: "PID:BEGAN,...", with CLOCK_REALTIME in ns. -EINVAL: that is not the form of `list`.
int hs_names__of_ended(const char *list);

#endif
