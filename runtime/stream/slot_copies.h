// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef HEAPSONDE_RUNTIME_STREAM_SLOT_COPIES_H
#define HEAPSONDE_RUNTIME_STREAM_SLOT_COPIES_H

#include "runtime/slots.h"

#include <stdbool.h>

// Submits the slots of the journals.
void hs_stream__flush_journals(void);

// Adds a copy of the contents of a slot. False: no room now.
bool hs_stream__copy_slot(const struct hs_slot *slot);

#endif
