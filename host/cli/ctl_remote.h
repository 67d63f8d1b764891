// SPDX-License-Identifier: MIT OR Apache-2.0
//
// `heapsonde ctl` for processes that stream over the network.
#ifndef HEAPSONDE_HOST_CLI_CTL_REMOTE_H
#define HEAPSONDE_HOST_CLI_CTL_REMOTE_H

#include "host/cli/command.h"
#include "host/ctl/client.h"
#include "host/ctl/find.h"

// The answer of a recorder has been shown: it is for people as it is.
#define HS_CTL_SHOWN (-1)

// Asks HOST:PORT, or the process that announces itself by that name. `request` is in the form of docs/protocol.md.
// Returns the exit status, HS_CTL_SHOWN, or HS_EXIT_OK with the answer of a sampled process, which has the form of its
// control socket's, and who it is.
int hs_ctl_remote__ask(const struct hs_arguments *arguments, const char *target, const char *request,
                       struct hs_ctl_answer *answer, struct hs_ctl_process *process);

#endif
