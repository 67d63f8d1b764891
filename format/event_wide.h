// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The words of a HS_RECORD_WIDE record as an event.
#ifndef HEAPSONDE_FORMAT_EVENT_WIDE_H
#define HEAPSONDE_FORMAT_EVENT_WIDE_H

#include "format/event.h"

#define HS_WIDE_WORDS 8

// Fills everything but the time (begin_time uses event->time, which is set). An unknown type, or one with fewer words
// than it needs, leaves event->kind 0. `words` holds at least HS_WIDE_WORDS elements.
void hs_wide_event(unsigned type, const uint64_t *words, unsigned count, struct hs_event *event);

#endif
