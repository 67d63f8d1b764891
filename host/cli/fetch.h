// SPDX-License-Identifier: MIT OR Apache-2.0
//
// run --fetch-binaries: the program and its libraries come from the board, too.
#ifndef HEAPSONDE_HOST_CLI_FETCH_H
#define HEAPSONDE_HOST_CLI_FETCH_H

#include "host/board/board.h"
#include "host/cli/command.h"

// Copies the files of a trace's modules into a folder, below which they have the paths that they have there: a sysroot.
// A file that is not what was recorded is left out, which is said, as is what cannot be read. Returns how many there
// are, or a negative errno after a line on standard error.
int hs_fetch_binaries(const struct hs_command *command, struct hs_board *board, const char *trace, const char *folder);

#endif
