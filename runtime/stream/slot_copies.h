// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef HEAPSONDE_RUNTIME_STREAM_SLOT_COPIES_H
#define HEAPSONDE_RUNTIME_STREAM_SLOT_COPIES_H

#include "runtime/slots.h"

#include <stdbool.h>

// Submits the slots of the journals.
void hs_stream__flush_journals(void);

// Adds a copy of the contents of a slot. False: no room now. Called by the sender.
bool hs_stream__copy_slot(const struct hs_slot *slot);

// How many events the stream has lost.
uint64_t hs_stream__lost(void);

// Gives back a slot without a chunk in the stream. If a copy of the slot is there, an empty chunk takes its place.
void hs_stream__withdraw_slot(struct hs_slot *slot);

#endif
