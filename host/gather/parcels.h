// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What a gatherer does with messages from a broker: takes them, writes traces and makes answers. The connection is in
// broker.h. A message can only append the bytes that follow those of the file. One that comes twice, late, or without
// those before it changes nothing, and the answer says how much the file has. All functions except hs_parcels__stored
// belong to one thread.
#ifndef HEAPSONDE_HOST_GATHER_PARCELS_H
#define HEAPSONDE_HOST_GATHER_PARCELS_H

#include "host/gather/parcel.h"
#include "host/gather/stream.h"

struct hs_parcels;

struct hs_parcels_options {
    struct hs_gather_stream_context context;
    const struct hs_shared_key *key;
    void (*answer)(void *data, const char *topic, const uint8_t *bytes, size_t size);
    void *data;
};

struct hs_parcels *hs_parcels__create(const struct hs_parcels_options *options); // NULL: out of memory

// Takes a message, which is deciphered in place.
void hs_parcels__take(struct hs_parcels *parcels, const char *topic, uint8_t *bytes, size_t size, uint64_t now);

// Does what is due: answers that a whole trace is on the disk, and closes traces that get no messages now.
void hs_parcels__tick(struct hs_parcels *parcels, uint64_t now);

// See hs_traces_options.stored. Claims with this bit are those of messages.
#define HS_PARCELS_CLAIM ((uint64_t)1 << 63)
void hs_parcels__stored(struct hs_parcels *parcels, uint64_t claim);

// Releases all traces.
void hs_parcels__close(struct hs_parcels *parcels);
void hs_parcels__free(struct hs_parcels *parcels);

#endif
