// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Reads the chunk headers in the bytes of a stream as they pass, and counts events and dumps.
#ifndef HEAPSONDE_HOST_GATHER_CHUNK_WATCH_H
#define HEAPSONDE_HOST_GATHER_CHUNK_WATCH_H

#include "format/trace_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The position of all pieces of a dump. Chunks of other kinds may be between them.
struct hs_watched_dump {
    uint64_t begin, end;
    uint64_t length; // of the dump
    uint32_t number, kind;
};

struct hs_chunk_watch {
    // Called for each complete dump after its last byte.
    void (*whole)(void *context, const struct hs_watched_dump *dump);
    void *context;
    uint64_t events;  // in sealed chunks
    uint64_t dropped; // missing events, from the last LIVE_PART
    uint64_t state;   // HS_STATE_*, from the last LIVE_PART
    bool lost;        // there was no chunk where one was expected; nothing is counted after that
    // Private:
    uint64_t next; // position of the next piece that it needs
    uint32_t have, wanted;
    bool in_payload;
    bool big_endian;
    uint64_t behind;             // the chunk
    struct hs_watched_dump dump; // begin 0: none
    uint8_t piece[sizeof(struct hs_live)];
};

// The chunks begin after the header of the stream; those before `from` were already counted.
void hs_chunk_watch__start(struct hs_chunk_watch *watch, uint8_t byte_order, uint64_t from);

// Adds the bytes that follow those of the last call.
void hs_chunk_watch__see(struct hs_chunk_watch *watch, uint64_t offset, const uint8_t *bytes, size_t length);

// Reads a file up to `size`, and at most `most_chunks` chunks; if there are more, `lost` is set.
void hs_chunk_watch__read(struct hs_chunk_watch *watch, int fd, uint64_t size, unsigned most_chunks);

#endif
