// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What a recorded process sends while it runs (docs/protocol.md): the chunks of its trace, in a ring from which a
// sender that the program cannot see takes them. The sender is a process that shares the program's memory, where the
// kernel makes one: it still sends what was recorded when the program has been killed. Else it is a thread, and what is
// left when the program ends goes to a forked child.
//
// Shared words (stream.c):
//   asleep   1 while the sender sleeps for want of bytes; `signal` is the futex
//   blocked  1 while somebody waits for room in the ring; `freed` is the futex
//   ended    0 while there may come more, then 1
//   quit     the sender is asked to end at once
#ifndef HEAPSONDE_RUNTIME_STREAM_STREAM_H
#define HEAPSONDE_RUNTIME_STREAM_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Whether the configuration asks for a stream.
bool hs_stream__is_wanted(void);

// Begins the stream of this process with the header of its trace and starts the sender. False: there is no stream, and
// the log says why.
bool hs_stream__begin(const void *file_header, size_t size);
bool hs_stream__is_open(void);

// Whether the program is to wait for the link, and there is no room now.
bool hs_stream__blocks(void);

// Whether `length` bytes of chunks would find room now, beyond what is kept for stacks and modules. True also without
// a stream, and when the program is to wait for the link.
bool hs_stream__has_room(uint32_t length);

// Whether no more than a few chunks wait for the link or for its answer. True also without a stream.
bool hs_stream__keeps_up(void);

// One sealed chunk: its header and its payload. Any thread of the writer's. False: it is not in the stream, which has
// counted the events in it.
bool hs_stream__append(const void *header, const void *payload, uint32_t length, uint32_t events);

// Nothing more comes: the process ends. What is in the ring is still sent, by whoever outlives the program; with
// HEAPSONDE_STREAM_POLICY=block the caller waits for it where nobody does.
void hs_stream__end(void);

// Around what needs a process with one thread: a sender that is a thread ends, and begins anew.
void hs_stream__pause(void);
void hs_stream__go_on(void);

// In a forked child: forgets the parent's.
void hs_stream__reset(void);

#endif
