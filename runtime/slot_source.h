// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Where those that fill slots get them, below the writer (runtime/writer.h), which empties them.
#ifndef HEAPSONDE_RUNTIME_SLOT_SOURCE_H
#define HEAPSONDE_RUNTIME_SLOT_SOURCE_H

#include "runtime/hidden_thread.h"
#include "runtime/slots.h"

#include <stdint.h>

// A free slot, prepared as by hs_slots__take(). If there is none: requests more, or waits for the writer, at most two
// seconds; then NULL.
struct hs_slot *hs_slot_source__take(uint32_t use, uint32_t stream, uint64_t base_time);

// Tells the writer that a slot was submitted; the inline writer seals it at once.
void hs_slot_source__notify(void);

// The tid of the writer's thread; 0: no thread.
uint32_t hs_slot_source__writer_thread(void);

// ---- for the writer -------------------------------------------------------------------------------------------------

// The writer sleeps while fewer slots are submitted.
enum { HS_SLOT_SOURCE_WAKE_AT = 3 };

enum hs_writer_state { HS_WRITER_NONE, HS_WRITER_THREAD, HS_WRITER_INLINE };

// An order to the writer: a thread found no free slot.
#define HS_SLOT_SOURCE_ROOM 1u

// The words are described in runtime/writer.h. The functions are set before anything is recorded.
struct hs_slot_source {
    _Atomic uint32_t state; // enum hs_writer_state
    _Atomic uint32_t signal, asleep, asked, answered;
    struct hs_hidden_thread thread; // the writer's
    bool (*start_writer)(void);     // when there is none yet; false: there will be none
    bool (*seal)(uint32_t orders);  // does the inline writer's work; false: not here
    bool (*stretch_pool)(void);     // makes slots outside the file; false: there are enough
    void (*end_recording)(void);    // the writer is the last thread
};

extern struct hs_slot_source hs_slot_source;

// Wakes the writer's thread with orders.
void hs_slot_source__wake(uint32_t orders);

#endif
