// SPDX-License-Identifier: MIT OR Apache-2.0
//
// SIGTRAP of a process whose thread is run to a trap. Where it is blocked or ignored, the kernel unblocks it at the
// trap, and makes its action the default one: this puts it back. If the injector is killed in between, it stays so.
//
// The mask is put back at a stop of any kind. The action needs a system call, so that the thread has to be at a stop
// from which it can carry out one, as behind hs_inject_steer__run_to. Signals that come then are held back by the
// mask; SIGKILL makes the call fail, and the process has ended.
#ifndef HEAPSONDE_HOST_INJECT_TRAP_SIGNAL_H
#define HEAPSONDE_HOST_INJECT_TRAP_SIGNAL_H

#include "host/inject/target.h"

struct hs_trap_signal {
    bool is_blocked, is_ignored;
};

// Before the thread runs.
struct hs_trap_signal hs_trap_signal__of(const struct hs_inject_target *target);

// 0 or a negative errno. -ENOTSUP: there is no place for the system call, and only the mask was put back. Nothing is
// done if the signal was neither blocked nor ignored.
int hs_trap_signal__put_back(struct hs_inject_target *target, const struct hs_trap_signal *signal,
                             struct hs_error *error);

#endif
