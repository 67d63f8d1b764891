// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The writer converts filled slots to chunks of the file. It is a hidden thread (own stack, own descriptor table, all
// signals blocked, no libc state) or, with the inline writer, the thread whose slot is full. Both write the same file.
//
// Shared words (struct hs_slot_source):
//   state     NONE -> THREAD | INLINE; NONE, THREAD -> INLINE when the program must be single-threaded
//   signal    futex on which the thread sleeps; incremented to wake it
//   asleep    1 while the thread sleeps or is about to
//   asked     orders (ORDER_*): set by threads, taken by the writer
//   answered  number of completed orders, except those for room; the threads that gave them sleep on it
#ifndef HEAPSONDE_RUNTIME_WRITER_H
#define HEAPSONDE_RUNTIME_WRITER_H

#include "runtime/slot_source.h"

#include <stdbool.h>
#include <stdint.h>

// What the writer has its owner do: make a writer when a record is due and there is none yet (false: there will be
// none), and end the recording when the writer is the last thread. Called before anything is recorded.
void hs_writer__set_owner(bool (*start_writer)(void), void (*end_recording)(void));

// Starts writing into the open output. `inline_writer`: without a thread.
bool hs_writer__start(bool inline_writer);
bool hs_writer__has_started(void);

// Waits until all slots submitted before are in the file. False: not within ten seconds.
bool hs_writer__sync(void);

// The same for sums in place of events, without waiting. A writer without a thread writes them at its next turn.
void hs_writer__ask_for_aggregate(void);

// Seals what was submitted, and marks the trace closed. Further events still go into live slots.
void hs_writer__close(uint64_t state);

// Leaves the output, when no thread seals: slots that are submitted later stay as they are.
void hs_writer__leave(void);

// Ends the thread, if there is one, and starts none later, so that the program has only its own threads. Recording
// continues inline.
void hs_writer__become_inline(void);

// Resets it in a forked child, without a writer.
void hs_writer__reset(void);

#endif
