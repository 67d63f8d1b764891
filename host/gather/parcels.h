// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The gatherer's side of a broker without the broker: takes messages, writes traces, makes answers. A message only ever
// appends the bytes that follow those that are there, so one that comes twice, late, or without those before it changes
// nothing: the answer says what is there. All functions but hs_parcels__stored belong to one thread.
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

// What is due: answers to ends that are on the disk, and traces of which nothing comes any more.
void hs_parcels__tick(struct hs_parcels *parcels, uint64_t now);

// See hs_traces_options.stored. Claims with this bit are those of messages.
#define HS_PARCELS_CLAIM ((uint64_t)1 << 63)
void hs_parcels__stored(struct hs_parcels *parcels, uint64_t claim);

// Releases all traces.
void hs_parcels__close(struct hs_parcels *parcels);
void hs_parcels__free(struct hs_parcels *parcels);

#endif
