// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Who turns filled slots into chunks of the file: a thread that the program cannot see (own stack, own descriptor
// table, all signals blocked, no libc state), or, with the inline writer, the thread whose slot is full. Both write the
// same file.
//
// Shared words (writer.c):
//   state     NONE -> THREAD | INLINE; NONE, THREAD -> INLINE when the program must be single-threaded
//   signal    futex that the thread sleeps on; incremented by whoever wakes it
//   asleep    1 while the thread sleeps or is about to
//   asked     orders (ORDER_*), set by threads, taken by the writer
//   answered  counts orders carried out, other than for room; askers sleep on it
#ifndef HEAPSONDE_RUNTIME_WRITER_H
#define HEAPSONDE_RUNTIME_WRITER_H

#include "runtime/slots.h"

#include <stdbool.h>
#include <stdint.h>

// Starts writing into the open output. `inline_writer`: without a thread.
bool hs_writer__start(bool inline_writer);
bool hs_writer__has_started(void);

// Tells the writer that a slot was submitted; the inline writer seals it now.
void hs_writer__notify(void);

// A free slot, prepared as hs_slots__take() does. When there is none: asks for more, or waits for the writer, two
// seconds at most; then NULL.
struct hs_slot *hs_writer__take_slot(uint32_t use, uint32_t stream, uint64_t base_time);

// Waits until every slot submitted before is in the file. Returns false after ten seconds.
bool hs_writer__sync(void);

// The same for sums in place of events, without waiting. A writer without a thread tells them at its next turn.
void hs_writer__ask_for_aggregate(void);

// Seals what is submitted, and marks the trace closed. Further events still go into live slots.
void hs_writer__close(uint64_t state);

// Ends the thread, if there is one, so that the program has no thread but its own, and starts none later. Recording
// goes on inline.
void hs_writer__become_inline(void);

// The tid of the thread; 0: there is none.
uint32_t hs_writer__thread(void);

// Starts anew in a forked child, without a writer.
void hs_writer__reset(void);

#endif
