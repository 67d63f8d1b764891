// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Watches the bytes of a stream go by and counts what its chunks say, at the cost of looking at their headers.
#ifndef HEAPSONDE_HOST_GATHER_CHUNK_WATCH_H
#define HEAPSONDE_HOST_GATHER_CHUNK_WATCH_H

#include "format/trace_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Where all pieces of a dump are, chunks of other kinds perhaps among them.
struct hs_watched_dump {
    uint64_t begin, end;
    uint64_t length; // of the dump
    uint32_t number, kind;
};

struct hs_chunk_watch {
    // Called for each dump that is whole, when all of it has been seen.
    void (*whole)(void *context, const struct hs_watched_dump *dump);
    void *context;
    uint64_t events;  // in sealed chunks
    uint64_t dropped; // events that are missing, by the last LIVE_PART
    uint64_t state;   // HS_STATE_*, by the same
    bool lost;        // no chunk stood where one had to; the counts stop there
    // its own
    uint64_t next; // where the piece that it waits for begins
    uint32_t have, wanted;
    bool in_payload;
    bool big_endian;
    uint64_t behind;             // the chunk
    struct hs_watched_dump dump; // begin 0: none
    uint8_t piece[sizeof(struct hs_live)];
};

// The stream's chunks begin behind its header; those before `from` have been seen.
void hs_chunk_watch__start(struct hs_chunk_watch *watch, uint8_t byte_order, uint64_t from);

// The bytes that follow those of the last call.
void hs_chunk_watch__see(struct hs_chunk_watch *watch, uint64_t offset, const uint8_t *bytes, size_t length);

// Goes through a file up to `size`, `most_chunks` at most; more: the counts are lost.
void hs_chunk_watch__read(struct hs_chunk_watch *watch, int fd, uint64_t size, unsigned most_chunks);

#endif
