// SPDX-License-Identifier: MIT OR Apache-2.0
//
// PTRACE_SEIZE waits for an execve of the process. That waits until the end of each other thread was told to whoever
// traces it, which may be the caller. So ends are taken as they come, by a handler of SIGCHLD.
#ifndef HEAPSONDE_HOST_INJECT_REAPING_H
#define HEAPSONDE_HOST_INJECT_REAPING_H

#include "host/inject/target.h"

#include <signal.h>

struct hs_inject_reaping {
    struct sigaction action; // as they were before
    sigset_t blocked;
};

// One target at a time.
void hs_inject_reaping__begin(struct hs_inject_reaping *reaping);
void hs_inject_reaping__end(const struct hs_inject_reaping *reaping);

// PTRACE_SEIZE, between the two if other threads of the target are traced already. 0 or a negative errno. Nothing is
// told later of those that have ended meanwhile.
int hs_inject_reaping__seize(const struct hs_inject_target *target, pid_t tid);

#endif
