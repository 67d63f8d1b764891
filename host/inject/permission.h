// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef HEAPSONDE_HOST_INJECT_PERMISSION_H
#define HEAPSONDE_HOST_INJECT_PERMISSION_H

#include "host/base/error.h"
#include "host/inject/target.h"

#include <sys/types.h>

// Whether this process has a capability now (CAP_SYS_PTRACE and others).
bool hs_permission__has_capability(unsigned number);

// Whether this process may attach to another one. 0, or a negative errno and the setting that forbids it.
int hs_permission__check(pid_t pid, struct hs_error *error);

// The process that traces a thread; 0: there is none.
pid_t hs_permission__tracer_of(pid_t tid);

// Whether nobody traces a thread of that process.
int hs_permission__check_thread(pid_t pid, pid_t tid, struct hs_error *error);

// The same as hs_permission__check, and opens the target. Other commands that attach to it or detach from it wait until
// it is closed.
int hs_permission__take(struct hs_inject_target *target, pid_t pid, struct hs_error *error);

#endif
