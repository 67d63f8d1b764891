// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What the writer (runtime/writer.h) provides to those that fill slots.
#ifndef HEAPSONDE_RUNTIME_SLOT_SOURCE_H
#define HEAPSONDE_RUNTIME_SLOT_SOURCE_H

#include "runtime/slots.h"

#include <stdint.h>

// A free slot, prepared as by hs_slots__take(). If there is none: requests more, or waits for the writer, at most two
// seconds; then NULL.
struct hs_slot *hs_writer__take_slot(uint32_t use, uint32_t stream, uint64_t base_time);

// Tells the writer that a slot was submitted; the inline writer seals it at once.
void hs_writer__notify(void);

// The tid of the writer's thread; 0: no thread.
uint32_t hs_writer__thread(void);

#endif
