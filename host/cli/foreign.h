// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Other tools' recordings where a trace may be given: they are made into a trace that goes when it is closed.
#ifndef HEAPSONDE_HOST_CLI_FOREIGN_H
#define HEAPSONDE_HOST_CLI_FOREIGN_H

#include "host/cli/command.h"
#include "host/convert/convert.h"
#include "host/store/store.h"

int hs_open_foreign(const char *path, enum hs_foreign kind, struct hs_store **store, struct hs_error *error);

// Where only a trace will do: says what the file is and what makes a trace of it. False: it is no other tool's.
bool hs_refuse_foreign(const struct hs_command *command, const char *path);

#endif
