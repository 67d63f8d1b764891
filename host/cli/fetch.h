// SPDX-License-Identifier: MIT OR Apache-2.0
//
// run --fetch-binaries: copies the program and its libraries from the board.
#ifndef HEAPSONDE_HOST_CLI_FETCH_H
#define HEAPSONDE_HOST_CLI_FETCH_H

#include "host/board/board.h"
#include "host/cli/command.h"

// Copies the files of a trace's modules into a folder, under the paths that they have on the board, so that the folder
// is a sysroot. If a file cannot be read or its build id is not the recorded one, a message names it and it is left
// out. Returns the number of files, or prints a message and returns a negative errno.
int hs_fetch_binaries(const struct hs_command *command, struct hs_board *board, const char *trace, const char *folder);

#endif
