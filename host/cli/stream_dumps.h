// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A sampler's stream that was kept as a file (HEAPSONDE_OUTPUT=fd:N): heap dumps, one behind the other.
#ifndef HEAPSONDE_HOST_CLI_STREAM_DUMPS_H
#define HEAPSONDE_HOST_CLI_STREAM_DUMPS_H

#include "host/cli/command.h"

#include <stdbool.h>

bool hs_stream_dumps__recognise(const char *path);

// Writes each whole dump into the folder, which is made when it is not there, and prints its name; what is there stays.
// Returns an exit status; complains itself.
int hs_stream_dumps__extract(const struct hs_command *command, const char *path, const char *folder);

#endif
