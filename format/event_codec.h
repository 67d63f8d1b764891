// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Converts between the records of a slot and the payload of an EVENTS chunk, and either of them into events.
// docs/format.md specifies the bytes. Compiled twice: for the target half (encoder: no libc, no allocation, no static
// writable data) and for the host half. One encoded payload is decodable alone.
#ifndef HEAPSONDE_FORMAT_EVENT_CODEC_H
#define HEAPSONDE_FORMAT_EVENT_CODEC_H

#include "format/event.h"
#include "format/trace_format.h"

#include <stddef.h>
#include <stdint.h>

// What the codec must know about the target; the file header contains the same values.
struct hs_codec_target {
    uint8_t byte_order;    // HS_BYTE_ORDER_*: of raw records
    uint8_t pointer_size;  // 4 or 8
    uint8_t address_shift; // of short records
};

// Memory that the encoder and the decoder work in: 16-byte aligned, contents without meaning before and after.
#define HS_CODEC_SCRATCH_SIZE (288u << 10)
// Most events that one slot can hold, and most bytes that one slot can become.
#define HS_CODEC_MAX_EVENTS (HS_SLOT_RECORDS_SIZE / 8)
#define HS_CODEC_MAX_OUTPUT (128u << 10)

struct hs_encoded {
    uint32_t length;     // bytes written
    uint32_t count;      // events
    uint32_t words;      // valid words of the slot; fewer than given: the rest is invalid
    uint64_t first_time; // for the chunk header: begin of the first event (a realloc's begin time when earlier)
    uint64_t last_time;
};

// Encodes `words` 64-bit words of records in this machine's byte order. `output` holds HS_CODEC_MAX_OUTPUT bytes;
// `words` is at most HS_SLOT_RECORDS_SIZE / 8 (more are not looked at). Stops at the end record or at the first invalid
// record. Never fails; a slot without events gives length 0.
void hs_events_encode(const struct hs_codec_target *target, const uint64_t *records, size_t words, uint64_t base_time,
                      void *scratch, uint8_t *output, struct hs_encoded *result);

// The same with the fast encoding: a third of the time and two to three times as many bytes, four per event for most
// programs. Used under CPU pressure.
void hs_events_encode_fast(const struct hs_codec_target *target, const uint64_t *records, size_t words,
                           uint64_t base_time, void *scratch, uint8_t *output, struct hs_encoded *result);

// Decodes an encoded payload into at most `max` events. Returns the number of events; *damaged tells whether the
// payload was not a complete valid one. Any bytes may be given.
size_t hs_events_decode(const struct hs_codec_target *target, const uint8_t *payload, size_t length, void *scratch,
                        struct hs_event *events, size_t max, int *damaged);

// The form of nearly all events, in half a cache line.
struct hs_brief_event {
    uint64_t time, address;
    uint32_t size, usable;
    uint32_t stack;
    uint8_t kind; // HS_EVENT_FREE to HS_EVENT_ALIGNED, or HS_BRIEF_WIDE: `size` is the number of a whole event
};
#define HS_BRIEF_WIDE 255

static inline int hs_event_is_wide(const struct hs_event *event)
{
    return event->kind < HS_EVENT_FREE || event->kind > HS_EVENT_ALIGNED || (event->size | event->usable) >> 32;
}

static inline void hs_event_shorten(const struct hs_event *event, struct hs_brief_event *brief)
{
    brief->time = event->time;
    brief->address = event->address;
    brief->size = (uint32_t)event->size;
    brief->usable = (uint32_t)event->usable;
    brief->stack = event->stack;
    brief->kind = event->kind;
}

// As hs_events_decode, but writes brief events to `events`, and others to `wide`, which has room for `max` + 1.
// `*wides` is the number of the latter.
size_t hs_events_decode_brief(const struct hs_codec_target *target, const uint8_t *payload, size_t length,
                              void *scratch, struct hs_brief_event *events, size_t max, struct hs_event *wide,
                              size_t *wides, int *damaged);

// Decodes the raw records of a slot, in target->byte_order. Stops at the end record; *damaged: at an invalid record.
size_t hs_records_decode(const struct hs_codec_target *target, const void *records, size_t words, uint64_t base_time,
                         struct hs_event *events, size_t max, int *damaged);

#endif
