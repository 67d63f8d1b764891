// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Other tools' recordings where only a trace will do.
#ifndef HEAPSONDE_HOST_CLI_FOREIGN_H
#define HEAPSONDE_HOST_CLI_FOREIGN_H

#include "host/cli/command.h"

// Says what the file is and what makes a trace of it. False: it is no other tool's.
bool hs_refuse_foreign(const struct hs_command *command, const char *path);

#endif
