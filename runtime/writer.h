// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The writer converts filled slots to chunks of the file. It is a hidden thread (own stack, own descriptor table, all
// signals blocked, no libc state) or, with the inline writer, the thread whose slot is full. Both write the same file.
//
// Shared words (writer.c):
//   state     NONE -> THREAD | INLINE; NONE, THREAD -> INLINE when the program must be single-threaded
//   signal    futex on which the thread sleeps; incremented to wake it
//   asleep    1 while the thread sleeps or is about to
//   asked     orders (ORDER_*): set by threads, taken by the writer
//   answered  number of completed orders, except those for room; the threads that gave them sleep on it
#ifndef HEAPSONDE_RUNTIME_WRITER_H
#define HEAPSONDE_RUNTIME_WRITER_H

#include "runtime/slots.h"

#include <stdbool.h>
#include <stdint.h>

// Starts writing into the open output. `inline_writer`: without a thread.
bool hs_writer__start(bool inline_writer);
bool hs_writer__has_started(void);

// Tells the writer that a slot was submitted; the inline writer seals it at once.
void hs_writer__notify(void);

// A free slot, prepared as by hs_slots__take(). If there is none: requests more, or waits for the writer, at most two
// seconds; then NULL.
struct hs_slot *hs_writer__take_slot(uint32_t use, uint32_t stream, uint64_t base_time);

// Waits until all slots submitted before are in the file. False: not within ten seconds.
bool hs_writer__sync(void);

// The same for sums in place of events, without waiting. A writer without a thread writes them at its next turn.
void hs_writer__ask_for_aggregate(void);

// Seals what was submitted, and marks the trace closed. Further events still go into live slots.
void hs_writer__close(uint64_t state);

// Ends the thread, if there is one, and starts none later, so that the program has only its own threads. Recording
// continues inline.
void hs_writer__become_inline(void);

// The tid of the thread; 0: no thread.
uint32_t hs_writer__thread(void);

// Resets it in a forked child, without a writer.
void hs_writer__reset(void);

#endif
