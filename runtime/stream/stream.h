// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The stream of a recorded process (docs/protocol.md): the chunks of its trace go through a ring to a hidden sender. If
// the kernel allows, the sender is a process that shares the program's memory, and still sends what was recorded when
// the program was killed. Otherwise it is a thread, and what is left at the end of the program is sent by a forked
// child.
//
// Shared words (stream.c):
//   asleep   1 while the sender sleeps because there are no bytes; `signal` is the futex
//   blocked  1 while a thread waits for room in the ring; `freed` is the futex
//   ended    0 while more may come, then 1
//   quit     asks the sender to end at once
//   has_host 1 while a host is connected or a pipe is open, and when the host has everything; set by the sender
#ifndef HEAPSONDE_RUNTIME_STREAM_STREAM_H
#define HEAPSONDE_RUNTIME_STREAM_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Whether the configuration requests a stream.
bool hs_stream__is_wanted(void);

// Begins the stream of this process with the header of its trace, and starts the sender. False: no stream; the reason
// is in the log.
bool hs_stream__begin(const void *file_header, size_t size);
bool hs_stream__is_open(void);

// Whether there is no room now and the policy is that the program waits.
bool hs_stream__blocks(void);

// Whether there is room for `length` bytes of chunks now, besides what is reserved for stacks and modules. True also
// without a stream, and if the policy is that the program waits.
bool hs_stream__has_room(uint32_t length);

// Whether at most a few chunks wait to be sent or acknowledged. True also without a stream.
bool hs_stream__keeps_up(void);

// Whether all chunks without events that were added are in the stream, and none waits for room. True also without a
// stream.
bool hs_stream__is_in_order(void);

// Adds a sealed chunk: its header and its payload. Any thread that seals may call it. False: it is not in the stream,
// and its events were counted as dropped there.
bool hs_stream__append(const void *header, const void *payload, uint32_t length, uint32_t events);

// The process ends, and nothing more comes. What is in the ring is still sent, by a process that outlives the program.
// If there is none and HEAPSONDE_STREAM_POLICY=block, the caller waits for it.
void hs_stream__end(void);

// After hs_stream__end() in a program that goes on without the recorder: if a host is connected, waits at most 20 s for
// the end of a sender that is a process. A sender that has not ended by then goes on, and is a zombie after that until
// the program ends.
void hs_stream__leave(void);

// Before and after calls that need a single-threaded process: ends and restarts a sender that is a thread.
void hs_stream__pause(void);
void hs_stream__go_on(void);

// In a forked child: drops the state of the parent.
void hs_stream__reset(void);

#endif
