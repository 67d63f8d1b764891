// SPDX-License-Identifier: MIT OR Apache-2.0
//
// attach --sample: settings for the sampling library, and what is said about it.
#ifndef HEAPSONDE_HOST_CLI_ATTACH_SAMPLE_H
#define HEAPSONDE_HOST_CLI_ATTACH_SAMPLE_H

#include "host/cli/command.h"
#include "host/inject/inject.h"

// Whether the sampling library knows all given options. If it does not, prints a message on standard error.
bool hs_attach_sample__options_are_right(const struct hs_arguments *arguments);

// Sets MALLOC_CONF for it. `output`: the pattern for dumps, NULL: jemalloc's, in the folder of this command. False: it
// is said on standard error.
bool hs_attach_sample__set_options(const struct hs_arguments *arguments, const char *output);

// Where the process keeps its control socket, as NAME=VALUE, which the caller frees. NULL: at the usual place.
char *hs_attach_sample__place(pid_t pid);

void hs_attach_sample__say(const struct hs_inject_request *request);

#endif
