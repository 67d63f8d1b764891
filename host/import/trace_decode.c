// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The contents of one chunk.
#include "host/import/trace.h"

#include "format/chunk.h"
#include "format/crc32c.h"
#include "format/meta_codec.h"

#include <errno.h>
#include <stdlib.h>

struct hs_trace_decoder {
    uint8_t *stored;
    size_t capacity;
    void *scratch;
    struct hs_event events[HS_CODEC_MAX_EVENTS + 1];
};

struct hs_trace_decoder *hs_trace_decoder__create(const struct hs_trace *trace)
{
    (void)trace;
    struct hs_trace_decoder *decoder = malloc(sizeof *decoder);
    if (!decoder)
        return NULL;
    decoder->capacity = HS_CODEC_MAX_OUTPUT;
    decoder->stored = malloc(decoder->capacity);
    decoder->scratch = aligned_alloc(64, HS_CODEC_SCRATCH_SIZE);
    if (decoder->stored && decoder->scratch)
        return decoder;
    hs_trace_decoder__free(decoder);
    return NULL;
}

void hs_trace_decoder__free(struct hs_trace_decoder *decoder)
{
    if (!decoder)
        return;
    free(decoder->stored);
    free(decoder->scratch);
    free(decoder);
}

int hs_trace__stored(const struct hs_trace *trace, const struct hs_trace_chunk *chunk, uint8_t *to)
{
    // The checksum of the payload is in the header; a live chunk has none.
    const unsigned known = HS_CHUNK_LIVE | HS_CHUNK_PACKED;
    uint8_t bytes[HS_CHUNK_HEADER_SIZE];
    struct hs_chunk_header header;
    if (chunk->flags & ~known)
        return -EBADMSG;
    int failed = hs_trace__read(trace, chunk->offset, bytes, sizeof bytes);
    if (!failed)
        failed = hs_trace__read(trace, chunk->offset + HS_CHUNK_HEADER_SIZE, to, chunk->stored_length);
    if (failed || chunk->flags & HS_CHUNK_LIVE)
        return failed;
    if (hs_chunk_read(bytes, &header) || header.payload_crc != hs_crc32c(0, to, chunk->stored_length))
        return -EIO;
    return 0;
}

static int load_stored(const struct hs_trace *trace, const struct hs_trace_chunk *chunk,
                       struct hs_trace_decoder *decoder)
{
    if (chunk->stored_length > decoder->capacity) {
        uint8_t *grown = realloc(decoder->stored, chunk->stored_length);
        if (!grown)
            return -ENOMEM;
        decoder->stored = grown;
        decoder->capacity = chunk->stored_length;
    }
    return hs_trace__stored(trace, chunk, decoder->stored);
}

// The slot header comes first; its base time was kept when the slot was found.
static size_t decode_slot(const struct hs_trace *trace, const struct hs_trace_chunk *chunk,
                          struct hs_trace_decoder *decoder, int *damaged)
{
    const size_t skip = HS_SLOT_RECORDS_OFFSET - HS_CHUNK_HEADER_SIZE;
    uint64_t base = 0;
    for (unsigned i = 0; i < 8; i++)
        base |= (uint64_t)decoder->stored[16 + i] << 8 * (trace->target.byte_order == HS_BYTE_ORDER_BIG ? 7 - i : i);
    return hs_records_decode(&trace->target, decoder->stored + skip, (chunk->stored_length - skip) / 8, base,
                             decoder->events, HS_CODEC_MAX_EVENTS, damaged);
}

int hs_trace__decode(const struct hs_trace *trace, const struct hs_trace_chunk *chunk, struct hs_trace_decoder *decoder,
                     const struct hs_event **events, size_t *count)
{
    int damaged = 0;
    *events = decoder->events;
    *count = 0;
    int failed = load_stored(trace, chunk, decoder);
    if (failed)
        return failed;
    *count = chunk->flags & HS_CHUNK_LIVE
                 ? decode_slot(trace, chunk, decoder, &damaged)
                 : hs_events_decode(&trace->target, decoder->stored, chunk->stored_length, decoder->scratch,
                                    decoder->events, HS_CODEC_MAX_EVENTS, &damaged);
    return damaged ? -EBADMSG : 0;
}

static size_t shorten(struct hs_event *events, size_t count, struct hs_brief_event *brief, size_t *wides)
{
    *wides = 0;
    for (size_t i = 0; i < count; i++) {
        hs_event_shorten(&events[i], &brief[i]);
        if (!hs_event_is_wide(&events[i]))
            continue;
        brief[i].kind = HS_BRIEF_WIDE;
        brief[i].size = (uint32_t)*wides;
        events[(*wides)++] = events[i];
    }
    return count;
}

int hs_trace__decode_brief(const struct hs_trace *trace, const struct hs_trace_chunk *chunk,
                           struct hs_trace_decoder *decoder, struct hs_brief_event *events, size_t *count,
                           const struct hs_event **wide, size_t *wides)
{
    int damaged = 0;
    *wide = decoder->events;
    *count = *wides = 0;
    int failed = load_stored(trace, chunk, decoder);
    if (failed)
        return failed;
    if (chunk->flags & HS_CHUNK_LIVE)
        *count = shorten(decoder->events, decode_slot(trace, chunk, decoder, &damaged), events, wides);
    else
        *count = hs_events_decode_brief(&trace->target, decoder->stored, chunk->stored_length, decoder->scratch, events,
                                        HS_CODEC_MAX_EVENTS, decoder->events, wides, &damaged);
    return damaged ? -EBADMSG : 0;
}

static int unpack(const struct hs_trace_chunk *chunk, const uint8_t *stored, uint8_t *plain)
{
    void *scratch = aligned_alloc(64, HS_META_SCRATCH_SIZE);
    if (!scratch)
        return -ENOMEM;
    int failed = hs_meta_unpack(stored, chunk->stored_length, scratch, plain, chunk->plain_length);
    free(scratch);
    return failed ? -EBADMSG : 0;
}

int hs_trace__payload(const struct hs_trace *trace, const struct hs_trace_chunk *chunk, uint8_t **payload,
                      size_t *length)
{
    *payload = NULL;
    *length = 0;
    uint8_t *stored = malloc(chunk->stored_length + 1);
    if (!stored)
        return -ENOMEM;
    int failed = hs_trace__stored(trace, chunk, stored);
    if (!failed && !(chunk->flags & HS_CHUNK_LIVE) && chunk->flags & HS_CHUNK_PACKED) {
        uint8_t *plain = malloc(chunk->plain_length + 1);
        failed = plain ? unpack(chunk, stored, plain) : -ENOMEM;
        free(stored);
        stored = plain;
        *length = chunk->plain_length;
    } else {
        *length = chunk->stored_length;
    }
    if (failed) {
        free(stored);
        *length = 0;
        return failed;
    }
    *payload = stored;
    return 0;
}
