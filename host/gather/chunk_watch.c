// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/gather/chunk_watch.h"

#include "format/chunk.h"

#include <string.h>
#include <unistd.h>

enum { LIVE_PART = 7 };

void hs_chunk_watch__start(struct hs_chunk_watch *watch, uint8_t byte_order, uint64_t from)
{
    memset(watch, 0, sizeof(*watch));
    watch->next = from;
    watch->wanted = HS_CHUNK_HEADER_SIZE;
    watch->big_endian = byte_order == HS_BYTE_ORDER_BIG;
}

static uint64_t live_word(const struct hs_chunk_watch *watch, size_t offset)
{
    uint64_t word = 0;
    for (unsigned i = 0; i < 8; i++)
        word |= (uint64_t)watch->piece[offset + i] << 8 * (watch->big_endian ? 7 - i : i);
    return word;
}

static void take_live_part(struct hs_chunk_watch *watch)
{
    watch->state = live_word(watch, offsetof(struct hs_live, state));
    watch->dropped = 0;
    for (unsigned i = 0; i < HS_DROP_COUNT; i++)
        watch->dropped += i == HS_DROP_META || i == HS_DROP_CHILDREN || i == HS_DROP_MODULES || i == HS_DROP_FILES
                              ? 0
                              : live_word(watch, offsetof(struct hs_live, dropped) + 8 * i);
    watch->in_payload = false;
    watch->wanted = HS_CHUNK_HEADER_SIZE;
    watch->next = watch->behind;
}

// A dump that is broken off is forgotten with the next one's first piece.
static void take_dump_piece(struct hs_chunk_watch *watch, const struct hs_chunk_header *chunk)
{
    struct hs_watched_dump *dump = &watch->dump;
    if (!chunk->sequence && !(chunk->flags & HS_CHUNK_LAST))
        *dump = (struct hs_watched_dump){.begin = watch->next, .number = chunk->stream, .kind = chunk->count};
    if (dump->begin && (dump->number != chunk->stream || dump->length != chunk->sequence))
        dump->begin = 0;
    if (!dump->begin)
        return;
    dump->length += chunk->stored_length;
    dump->end = watch->behind;
    if (!(chunk->flags & HS_CHUNK_LAST))
        return;
    if (watch->whole && !chunk->stored_length)
        watch->whole(watch->context, dump);
    dump->begin = 0;
}

static void take_header(struct hs_chunk_watch *watch)
{
    struct hs_chunk_header chunk;
    if (hs_chunk_read(watch->piece, &chunk)) {
        watch->lost = true;
        return;
    }
    watch->behind = watch->next + hs_chunk_size(chunk.stored_length);
    if (chunk.kind == HS_CHUNK_EVENTS || chunk.kind == HS_CHUNK_SUMS)
        watch->events += chunk.count;
    if (chunk.kind == HS_CHUNK_DUMP)
        take_dump_piece(watch, &chunk);
    watch->in_payload = chunk.kind == LIVE_PART && chunk.stored_length >= sizeof(struct hs_live);
    watch->wanted = watch->in_payload ? sizeof(struct hs_live) : HS_CHUNK_HEADER_SIZE;
    watch->next = watch->in_payload ? watch->next + HS_CHUNK_HEADER_SIZE : watch->behind;
}

static void take_piece(struct hs_chunk_watch *watch)
{
    watch->have = 0;
    if (watch->in_payload)
        take_live_part(watch);
    else
        take_header(watch);
}

void hs_chunk_watch__see(struct hs_chunk_watch *watch, uint64_t offset, const uint8_t *bytes, size_t length)
{
    uint64_t end = offset + length;
    while (!watch->lost) {
        uint64_t at = watch->next + watch->have;
        if (at >= end)
            return;
        size_t part = watch->wanted - watch->have;
        if (part > end - at)
            part = (size_t)(end - at);
        memcpy(watch->piece + watch->have, bytes + (at - offset), part);
        watch->have += (uint32_t)part;
        if (watch->have == watch->wanted)
            take_piece(watch);
    }
}

void hs_chunk_watch__read(struct hs_chunk_watch *watch, int fd, uint64_t size, unsigned most_chunks)
{
    while (!watch->lost && watch->next + watch->have < size) {
        uint64_t at = watch->next + watch->have;
        size_t part = watch->wanted - watch->have;
        if (part > size - at)
            part = (size_t)(size - at);
        if (!most_chunks-- || pread(fd, watch->piece + watch->have, part, (off_t)at) != (ssize_t)part)
            watch->lost = true;
        watch->have += (uint32_t)part;
        if (!watch->lost && watch->have == watch->wanted)
            take_piece(watch);
    }
}
