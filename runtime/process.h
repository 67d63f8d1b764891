// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The recorder's life in one process: start, toggling, fork, exec, exit.
#ifndef HEAPSONDE_RUNTIME_PROCESS_H
#define HEAPSONDE_RUNTIME_PROCESS_H

#include "runtime/config.h"
#include "runtime/mode.h"

#include <stdbool.h>
#include <stdint.h>

// Called by a hook that found mode 0. Starts the recorder, or creates the trace of a forked child, if that is due.
// Returns the mode. Cheap if there is nothing to do.
uint32_t hs_process__wake(void);

// Call when libc is initialised: handles signals and environment.
void hs_process__libc_is_ready(void);

// Switches recording on or off; the first time on creates the trace. Any thread.
void hs_process__set_recording(bool on);
bool hs_process__is_recording(void);

// The handler of SIGUSR1 and SIGUSR2, unless the program has one.
void hs_process__toggle_on_signal(int signal);

// Writes everything that the calling thread has recorded so far to the file.
bool hs_process__sync(void);

// The process is about to end normally. Call once; later events still reach the file.
void hs_process__exit(void);

// Ends the trace, the writer's thread and the recording in a process that goes on.
void hs_process__detach(void);

// Of a library that was put into a running process: value of the trace's info "attached", else empty.
extern char hs_process__attached[];

// Before exec, and after it has failed: marks the trace, and removes the mark.
void hs_process__before_exec(void);
void hs_process__after_failed_exec(void);

// In the child, after fork.
void hs_process__after_fork(void);

// The program is about to make a call that requires a single-threaded process.
void hs_process__be_single_threaded(void);
void hs_process__has_been_single_threaded(void);

// The program is about to forbid system calls (HS_FORBIDDEN_*), in this thread or in all. Writes what was recorded so
// far, and ends recording if it cannot continue.
void hs_process__forbid(uint32_t forbidden, bool all_threads);

// Before dlclose: no stacks of other threads are unwound until hs_process__code_was_unloaded().
void hs_process__code_will_be_unloaded(void);

// After dlclose: finds what was unloaded and drops it.
void hs_process__code_was_unloaded(void);

#endif
