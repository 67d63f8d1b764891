// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The stream of a sampled process: its dumps go to a host (docs/protocol.md), which may also ask for what the control
// socket answers.
#ifndef HEAPSONDE_RUNTIME_PROF_STREAMING_H
#define HEAPSONDE_RUNTIME_PROF_STREAMING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)
// Once, when the options are known and libc is initialised.
void hs_streaming__start(void);

// A forked child has a stream of its own from its first sample or dump on.
void hs_streaming__after_fork(void);
extern _Atomic uint32_t hs_streaming_is_due;
void hs_streaming__begin_if_due(void);

void hs_streaming__before_exec(void);
void hs_streaming__after_failed_exec(void);
void hs_streaming__pause(void);
void hs_streaming__go_on(void);

// Behind the last dump.
void hs_streaming__end(void);

// Whether dumps are streamed, and whether they are instead of being written to files under automatic names.
bool hs_streaming__is_open(void);
bool hs_streaming__replaces_files(void);

// The sender may be a process of its own that has the program's memory: whether it is who calls, and the program's pid
// in any case.
bool hs_streaming__is_sender(void);
uint32_t hs_streaming__pid(void);
#pragma GCC visibility pop

#endif
