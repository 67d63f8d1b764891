// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The recorder's life in one process: start, toggling, fork, exec, exit.
//
// Shared words:
//   hs_shared->mode   what hooks record: HS_MODE_* bits, 0: nothing, ask hs_process__wake(). Read on every hook;
//   written
//                     when recording starts, pauses, stops.
//   hs_shared->alive  1 once started. Both words are in a page that the kernel wipes in a forked child
//                     (MADV_WIPEONFORK), so that a child made in whatever way records nothing before it has let go
//                     of its parent's file.
//   state             UNSTARTED -> STARTING -> RUNNING | PASSIVE; PASSIVE is for good
#ifndef HEAPSONDE_RUNTIME_PROCESS_H
#define HEAPSONDE_RUNTIME_PROCESS_H

#include "runtime/config.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define HS_MODE_ALLOC 1u // allocations and maps
#define HS_MODE_FREE  2u // frees; stays set while recording pauses, so that live blocks stay right

struct hs_shared {
    _Atomic uint32_t mode;
    _Atomic uint32_t alive;
};

extern struct hs_shared *hs_shared;

static inline uint32_t hs_mode(void)
{
    return atomic_load_explicit(&hs_shared->mode, memory_order_relaxed);
}

// Called by a hook that found mode 0: starts the recorder, or makes a forked child's own trace ready, when that is
// due. Returns the mode to go on with. Cheap when there is nothing to do.
uint32_t hs_process__wake(void);

// Once libc is initialised: signals, environment.
void hs_process__libc_is_ready(void);

// Turns recording on or off; the first time on creates the trace. Any thread.
void hs_process__set_recording(bool on);
bool hs_process__is_recording(void);

// Records nothing more: the trace has stopped for good.
void hs_process__give_up(void);

// The handler of SIGUSR1 and SIGUSR2, where the program has none.
void hs_process__toggle_on_signal(int signal);

// Makes everything recorded so far by the calling thread durable, as far as the file is.
bool hs_process__sync(void);

// The process is about to end normally. Once; what is recorded later still reaches the file.
void hs_process__exit(void);

// Around exec: marks the trace, and takes the mark back when exec failed.
void hs_process__before_exec(void);
void hs_process__after_failed_exec(void);

// In the child, after fork.
void hs_process__after_fork(void);

// The program is about to do what only a single-threaded process may do.
void hs_process__be_single_threaded(void);
void hs_process__has_been_single_threaded(void);

// The program is about to forbid itself system calls (HS_FORBIDDEN_*), in this thread or in all: what is recorded until
// now is written, and recording ends if it cannot go on.
void hs_process__forbid(uint32_t forbidden, bool all_threads);

// Creates the file of a forked child, which is put off until there is something to write. True when there is a writer.
bool hs_process__materialize(void);

// Before dlclose: nobody unwinds the stacks of other threads until hs_process__code_was_unloaded().
void hs_process__code_will_be_unloaded(void);

// After dlclose: what was unloaded is looked for and forgotten.
void hs_process__code_was_unloaded(void);

#endif
