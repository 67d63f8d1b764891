// SPDX-License-Identifier: MIT OR Apache-2.0
//
// One connection after both sides have proven that they have the key: processes its frames and makes those to be sent.
// Without sockets.
#ifndef HEAPSONDE_HOST_GATHER_STREAM_H
#define HEAPSONDE_HOST_GATHER_STREAM_H

#include "host/gather/link.h"
#include "host/gather/notices.h"
#include "host/gather/request.h"
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
    struct hs_gathered *trace; // NULL: STREAM has not come yet
    uint64_t claim;            // a unique number
    uint64_t expected;         // offset of the next DATA
    uint64_t stored, acknowledged;
    char detail[256]; // text of the device when it refused
    bool want_due, ping_due, request_due;
    struct hs_gather_request *request; // that waits for its answer; NULL: none
    uint32_t request_number;
    bool ended;  // END has come
    bool synced; // everything is on the disk
    bool done;   // the end was acknowledged: the device may close
};

// Processes whole frames of `bytes` (which are decrypted in place). Returns how many bytes were used. *refusal: the
// reason if the connection has to be closed.
size_t hs_gather_stream__take(const struct hs_gather_stream_context *context, struct hs_gather_stream *stream,
                              uint8_t *bytes, size_t length, enum hs_refusal *refusal);

// Makes the frames that are due. It is called again only after these were sent, so that a peer that does not read costs
// nothing.
#define HS_STREAM_OUT                                                                                                  \
    ((size_t)3 * HS_GATHER_LINK_SMALL + HS_WIRE_LENGTH_SIZE + HS_WIRE_KIND_SIZE + 4 + HS_GATHER_REQUEST_MOST +         \
     HS_WIRE_TAG_SIZE)
size_t hs_gather_stream__fill(struct hs_gather_stream *stream, uint8_t out[HS_STREAM_OUT]);

// Sends the request with the next frames. One at a time: another one fails with -EBUSY, or -ENOTCONN before STREAM.
void hs_gather_stream__ask(struct hs_gather_stream *stream, struct hs_gather_request *request);

// The connection has ended: prints this and releases the trace.
void hs_gather_stream__close(const struct hs_gather_stream_context *context, struct hs_gather_stream *stream,
                             enum hs_refusal why);

#endif
