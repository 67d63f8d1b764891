// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/stream/dump_pieces.h"

#include "arch/system.h"
#include "format/chunk.h"
#include "runtime/clock.h"
#include "runtime/config.h"
#include "runtime/shared_word.h"
#include "runtime/stream/stream_internal.h"

enum { PIECE = 65536 };

// Under the stream's lock while there is an owner.
static struct {
    uint32_t owner;  // tid
    uint32_t number; // of the last dump
    uint32_t at;     // where the next piece goes
    uint64_t offset; // in the dump
    char kind;
    bool may_wait, failed;
} dump;

static uint32_t own_tid(void)
{
    return (uint32_t)hs_system_gettid();
}

static void count_as_dropped(void)
{
    hs_shared_word__add(&hs_stream.dropped[HS_STREAM_DROPPED_EVENTS], 1);
}

static bool take_lock(void)
{
    return dump.owner != own_tid() && !hs_stream__has_ended() && hs_stream__lock();
}

bool hs_dump_pieces__begin(char kind, bool may_wait)
{
    if (!hs_stream.open)
        return false;
    hs_shared_word__add((uint64_t *)&hs_stream.live->events, 1);
    if (!take_lock()) {
        count_as_dropped();
        return false;
    }
    dump.owner = own_tid();
    dump.number++;
    dump.kind = kind;
    dump.may_wait = may_wait;
    dump.offset = 0;
    dump.failed = false;
    dump.at = hs_stream_ring__head(&hs_stream.ring);
    return true;
}

static bool may_wait(void)
{
    return hs_config.policy == HS_POLICY_BLOCK && !hs_stream__has_ended() && dump.may_wait;
}

// There is always room left for a LIVE_PART, which says what was dropped.
static bool make_room(uint64_t size)
{
    struct hs_stream_ring *ring = &hs_stream.ring;
    while (ring->size - (dump.at - hs_stream_ring__tail(ring)) < size + hs_chunk_size(HS_LIVE_WORDS * 8)) {
        if (!may_wait())
            return false;
        hs_stream_ring__publish(ring, dump.at);
        hs_stream__wait_for_room();
    }
    return true;
}

static void put_piece(const void *bytes, uint32_t length, uint16_t flags)
{
    uint8_t header[HS_CHUNK_HEADER_SIZE];
    uint64_t now = hs_clock__now();
    struct hs_chunk_header chunk = {.kind = HS_CHUNK_DUMP,
                                    .flags = flags,
                                    .stored_length = length,
                                    .plain_length = length,
                                    .stream = dump.number,
                                    .count = (uint8_t)dump.kind,
                                    .sequence = dump.offset,
                                    .first_time = now,
                                    .last_time = now};
    dump.failed |= !make_room(hs_chunk_size(length));
    if (dump.failed)
        return;
    hs_chunk_seal(&chunk, bytes, header);
    dump.at = hs_stream__place(dump.at, header, bytes, length);
    dump.offset += length;
}

void hs_dump_pieces__put(const void *bytes, uint64_t length)
{
    const uint8_t *at = bytes;
    while (length && !dump.failed) {
        uint32_t part = length < PIECE ? (uint32_t)length : PIECE;
        put_piece(at, part, 0);
        at += part;
        length -= part;
    }
}

void hs_dump_pieces__end(bool whole)
{
    if (whole)
        put_piece(NULL, 0, HS_CHUNK_LAST);
    if (whole && !dump.failed)
        hs_stream_ring__publish(&hs_stream.ring, dump.at);
    else
        count_as_dropped();
    hs_stream__put_live_part();
    dump.owner = 0;
    hs_stream__unlock();
    hs_stream__wake_sender();
}

void hs_dump_pieces__reset(void)
{
    dump.owner = dump.number = 0;
}
