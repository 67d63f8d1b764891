// SPDX-License-Identifier: MIT OR Apache-2.0
//
// One connection after both sides have proven themselves: what its frames do, and what is to be sent. No sockets here.
#ifndef HEAPSONDE_HOST_GATHER_STREAM_H
#define HEAPSONDE_HOST_GATHER_STREAM_H

#include "host/gather/link.h"
#include "host/gather/notices.h"
#include "host/gather/select.h"
#include "host/gather/traces.h"

struct hs_gather_stream_context {
    struct hs_traces *traces;
    const struct hs_select *select;
    struct hs_notices *notices;
};

struct hs_gather_stream {
    struct hs_gather_link link;
    struct hs_address peer;
    struct hs_device device;
    struct hs_gathered *trace; // NULL before STREAM
    uint64_t claim;            // a number that no other has
    uint64_t expected;         // offset of the next DATA
    uint64_t stored, acknowledged;
    char detail[256]; // what the device said when it refused
    bool want_due, ping_due;
    bool ended;  // END has come
    bool synced; // and is on the disk
    bool done;   // and has been acknowledged: the device may go
};

// Takes whole frames from `bytes` (which are decrypted in place). Returns how many bytes they had; *refusal says why
// the connection has to be closed.
size_t hs_gather_stream__take(const struct hs_gather_stream_context *context, struct hs_gather_stream *stream,
                              uint8_t *bytes, size_t length, enum hs_refusal *refusal);

// The frames that are due. Called again only once these are sent, so a peer that reads nothing costs nothing.
#define HS_STREAM_OUT ((size_t)3 * HS_GATHER_LINK_SMALL)
size_t hs_gather_stream__fill(struct hs_gather_stream *stream, uint8_t out[HS_STREAM_OUT]);

// The connection is over. Says so, and gives the trace back.
void hs_gather_stream__close(const struct hs_gather_stream_context *context, struct hs_gather_stream *stream,
                             enum hs_refusal why);

#endif
