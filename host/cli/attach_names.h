// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Names of run-time code for the traces of a process that is attached to: they are taken when its recording has ended.
#ifndef HEAPSONDE_HOST_CLI_ATTACH_NAMES_H
#define HEAPSONDE_HOST_CLI_ATTACH_NAMES_H

#include "host/cli/jit_files.h"

struct hs_attach_names {
    bool is_known; // the process could be looked at
    struct hs_jit_process process;
    char **traces; // that it writes
    size_t count;
};

// While the process is recorded. It may end before the names are taken.
void hs_attach_names__look(struct hs_attach_names *names, pid_t pid);

// Afterwards. Says what could not be taken, and frees everything.
void hs_attach_names__take(struct hs_attach_names *names, const struct hs_command *command);

#endif
