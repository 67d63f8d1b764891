// SPDX-License-Identifier: MIT OR Apache-2.0
//
// `heapsonde ctl` for processes that stream over the network.
#ifndef HEAPSONDE_HOST_CLI_CTL_REMOTE_H
#define HEAPSONDE_HOST_CLI_CTL_REMOTE_H

#include "host/cli/command.h"

// Asks HOST:PORT, or whoever announces itself by that name. `request` is what the wire takes. Returns the exit status.
int hs_ctl_remote__ask(const struct hs_arguments *arguments, const char *target, const char *request);

#endif
