// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The stream of a sampled process: sends its dumps to a host (docs/protocol.md), which can also send the requests of
// the control socket.
#ifndef HEAPSONDE_RUNTIME_PROF_STREAMING_H
#define HEAPSONDE_RUNTIME_PROF_STREAMING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)
// Call once, when the options are known and libc is initialised.
void hs_streaming__start(void);

// A forked child gets its own stream at its first sample or dump.
void hs_streaming__after_fork(void);
extern _Atomic uint32_t hs_streaming_is_due;
void hs_streaming__begin_if_due(void);

void hs_streaming__before_exec(void);
void hs_streaming__after_failed_exec(void);
void hs_streaming__pause(void);
void hs_streaming__go_on(void);

// After the last dump.
void hs_streaming__end(void);

// Whether dumps are streamed; and whether they are streamed instead of being written to files with automatic names.
bool hs_streaming__is_open(void);
bool hs_streaming__replaces_files(void);

// Whether the calling thread is the sender, which must wait neither for room in the stream nor for whoever dumps.
bool hs_streaming__is_sender(void);

// The program's pid. The sender may be a process of its own that shares the program's memory.
uint32_t hs_streaming__pid(void);
#pragma GCC visibility pop

#endif
