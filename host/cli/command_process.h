// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Commands to the process that writes a trace, for `heapsonde server --control`.
#ifndef HEAPSONDE_HOST_CLI_COMMAND_PROCESS_H
#define HEAPSONDE_HOST_CLI_COMMAND_PROCESS_H

#include "host/gather/shared_key.h"
#include "host/rest/rest.h"

// The key must outlive it; one of length 0 is none.
struct hs_rest_control hs_command_process(struct hs_shared_key *key);

#endif
