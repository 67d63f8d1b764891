// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What `top` shows of a device that listens: a process of its own gathers the trace into a temporary folder, which goes
// when that process ends.
#ifndef HEAPSONDE_HOST_CLI_TOP_GATHER_H
#define HEAPSONDE_HOST_CLI_TOP_GATHER_H

#include "host/base/error.h"
#include "host/gather/shared_key.h"

#include <stdbool.h>
#include <sys/types.h>

struct hs_top_gather {
    char *folder; // NULL: it does not run
    pid_t pid;
    int problem; // the process writes there why it ends
};

// Before there are other threads. `address` is HOST:PORT. 0, or a negative errno with the error set.
int hs_top_gather__start(struct hs_top_gather *gather, const char *address, const struct hs_shared_key *key,
                         bool insecure, struct hs_error *error);
// Waits a moment. Not 0: nothing will come, for the reason in the error.
int hs_top_gather__wait(struct hs_top_gather *gather, struct hs_error *error);
void hs_top_gather__end(struct hs_top_gather *gather);

#endif
