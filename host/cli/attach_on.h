// SPDX-License-Identifier: MIT OR Apache-2.0
//
// attach --on and detach --on: heapsonde-attach on another machine does the work; the trace comes here while it is
// recorded.
#ifndef HEAPSONDE_HOST_CLI_ATTACH_ON_H
#define HEAPSONDE_HOST_CLI_ATTACH_ON_H

#include "host/cli/command.h"

#include <sys/types.h>

// Both return an exit status, and print what happened. `pattern`: absolute, of the trace.
int hs_attach_on(const struct hs_arguments *arguments, pid_t pid, const char *pattern);
int hs_detach_on(const struct hs_arguments *arguments, pid_t pid);

#endif
