// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A trace as a page that is one file.
#ifndef HEAPSONDE_HOST_CLI_ONE_PAGE_H
#define HEAPSONDE_HOST_CLI_ONE_PAGE_H

#include "host/cli/command.h"

#include <stdio.h>

struct hs_suppressions;

// Writes the trace that the first operand names. It is the whole trace: filters are refused. `suppressions` are of
// findings; NULL: none. Returns 0, or prints a message and returns the exit status.
int hs_write_page(const struct hs_arguments *arguments, const struct hs_suppressions *suppressions, FILE *out);

#endif
