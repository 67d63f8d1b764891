// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Commands to the process that writes a trace, for `heapsonde server --control`: over the connection that `gather` has
// to it, at the port where it listens on this machine, or at its control socket.
#ifndef HEAPSONDE_HOST_CLI_COMMAND_PROCESS_H
#define HEAPSONDE_HOST_CLI_COMMAND_PROCESS_H

#include "host/gather/shared_key.h"
#include "host/rest/rest.h"

// The key must outlive it; one of length 0 is none.
struct hs_rest_control hs_command_process(struct hs_shared_key *key);

// For hs_rest_folders.
int hs_gathered_devices(void *context, const char *folder, const char *select, char **json, struct hs_error *error);

// Whether `gather` writes or wrote to this folder.
bool hs_is_gathered_folder(const char *path);

#endif
