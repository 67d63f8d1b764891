// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What hosts are offered: the bytes of the stream that are in the ring, and the description of the process. One host at
// a time gets the stream. Used only by the sender and its connections.
#ifndef HEAPSONDE_RUNTIME_STREAM_OFFER_H
#define HEAPSONDE_RUNTIME_STREAM_OFFER_H

#include "runtime/stream/link_state.h"

struct hs_offer {
    struct hs_link *owner; // that gets the stream
    uint64_t tail;         // what the ring's tail is, in 64 bits
    bool end_heard;        // the host has closed its side behind the end
    uint64_t acknowledged_ns;
};

extern struct hs_offer hs_offer;

// The end of what is in the ring.
uint64_t hs_offer__head(void);

// Writes the payload of STREAM, at most HS_WIRE_PAYLOAD_MAX bytes. Returns its length.
uint32_t hs_offer__describe(uint8_t *payload);
// A host wants the stream from `offset` on. NULL, or the reason for a refusal.
const char *hs_offer__want(struct hs_link *link, uint64_t offset);
void hs_offer__acknowledged(const struct hs_link *link, uint64_t offset);
// The host has closed its side correctly.
void hs_offer__closed_by_host(const struct hs_link *link);
// Copies bytes from `offset` on to `to`. Returns their number; 0: none now.
uint32_t hs_offer__read(uint64_t offset, uint8_t *to, uint32_t length);
// Whether the stream ends at `offset`.
bool hs_offer__ends_at(uint64_t offset);

// The facts that both STREAM and announcements contain.
const uint8_t *hs_offer__trace_id(void);
void hs_offer__describe_process(uint8_t **at, const uint8_t *end);

#endif
