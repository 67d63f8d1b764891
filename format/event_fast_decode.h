// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef HEAPSONDE_FORMAT_EVENT_FAST_DECODE_H
#define HEAPSONDE_FORMAT_EVENT_FAST_DECODE_H

#include "format/event_fast.h"

// Reads payloads of the fast encoding, in memory of the caller.
struct hs_fast_reader {
    struct hs_fast fast;
    const uint8_t *at, *end;
    const struct hs_codec_target *target;
    int damaged; // the payload is invalid: stop
};

// Begins with the bytes after a payload's version. Returns how many events there are; `damaged` is set if that is
// impossible.
uint32_t hs_fast_reader__start(struct hs_fast_reader *reader, const struct hs_codec_target *target,
                               const uint8_t *payload, size_t length);

// The next event, into one that is all zero as far as allocations and frees have fields; event->kind stays 0 for one
// that this version does not know.
void hs_fast_reader__next(struct hs_fast_reader *reader, struct hs_event *event);

#endif
