// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The host's side of one connection without the socket: hello, keys and frames as bytes (docs/protocol.md, 2).
#ifndef HEAPSONDE_HOST_GATHER_LINK_H
#define HEAPSONDE_HOST_GATHER_LINK_H

#include "format/wire.h"
#include "host/gather/refusal.h"
#include "host/gather/shared_key.h"

struct hs_gather_link {
    struct hs_wire_direction from_device, from_host;
    uint8_t hello[HS_WIRE_HELLO_SIZE]; // of the host
};

// Makes the host's hello, to be sent by the caller.
void hs_gather_link__begin(struct hs_gather_link *link, const struct hs_shared_key *key);

// Reads the device's hello.
enum hs_refusal hs_gather_link__take_hello(struct hs_gather_link *link, const struct hs_shared_key *key,
                                           const uint8_t hello[HS_WIRE_HELLO_SIZE]);

// The length of the device's AUTH, and the check of its bytes.
size_t hs_gather_link__auth_size(const struct hs_gather_link *link);
enum hs_refusal hs_gather_link__take_auth(struct hs_gather_link *link, uint8_t *frame);

struct hs_gather_link_frame {
    enum hs_wire_kind kind;
    uint8_t *payload;
    size_t length;
};

// Decrypts the frame at the beginning of `bytes` in place. Returns its size; 0 if more bytes are needed, or with
// *refusal set if it is not a valid frame.
size_t hs_gather_link__next(struct hs_gather_link *link, uint8_t *bytes, size_t length,
                            struct hs_gather_link_frame *frame, enum hs_refusal *refusal);

// The size of the largest frame whose only payload is a 64-bit number.
#define HS_GATHER_LINK_SMALL (HS_WIRE_LENGTH_SIZE + HS_WIRE_KIND_SIZE + 8 + HS_WIRE_TAG_SIZE)

// These write a frame and return its size.
size_t hs_gather_link__empty(struct hs_gather_link *link, enum hs_wire_kind kind, uint8_t frame[HS_GATHER_LINK_SMALL]);
size_t hs_gather_link__number(struct hs_gather_link *link, enum hs_wire_kind kind, uint64_t number,
                              uint8_t frame[HS_GATHER_LINK_SMALL]);

#endif
