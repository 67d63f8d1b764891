// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Steers a stopped process: system calls that its first thread carries out, and the way of a program from its first
// instruction on.
#ifndef HEAPSONDE_HOST_INJECT_STEER_H
#define HEAPSONDE_HOST_INJECT_STEER_H

#include "host/inject/target.h"

// ---- system calls --------------------------------------------------------------------------------------------------

// Has the first stopped thread carry out a call by the stub at `stub`, which is written here. Afterwards the thread is
// stopped as before. `done`: see struct hs_inject_arch.
int hs_inject_steer__call(struct hs_inject_target *target, uint64_t stub, uint64_t done,
                          const struct hs_system_call *call, long *result, struct hs_error *error);

// Adds to the signals that the first stopped thread blocks: a bit each.
int hs_inject_steer__block(const struct hs_inject_target *target, uint64_t signals, struct hs_error *error);

// ---- starting ------------------------------------------------------------------------------------------------------

// A stopped child that is about to execute a program: goes to that program's first instruction and stays there.
// *executed becomes false if the child has ended.
int hs_inject_steer__start(struct hs_inject_target *target, pid_t pid, bool *executed, struct hs_error *error);
// The same for a traced process that is stopped behind its execve.
int hs_inject_steer__hold(struct hs_inject_target *target, pid_t pid, bool *executed, struct hs_error *error);
// Has the only thread of a process that starts run to an instruction, and stops it there.
int hs_inject_steer__run_to(struct hs_inject_target *target, uint64_t address, struct hs_error *error);
// Has it carry out one instruction. The stop behind it is none from which it can carry out a call.
int hs_inject_steer__step(struct hs_inject_target *target, struct hs_error *error);

#endif
