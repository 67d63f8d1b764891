// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The contents of one chunk.
#include "host/import/trace.h"

#include "format/chunk.h"
#include "format/crc32c.h"
#include "format/meta_codec.h"

#include <errno.h>
#include <stdlib.h>

// What decoding needs while it runs; decoders that do not decode at the same time share it.
struct hs_trace_workspace {
    uint8_t *stored;
    size_t capacity;
    void *scratch;
    unsigned users;
};

struct hs_trace_decoder {
    struct hs_trace_workspace *workspace;
    struct hs_event events[HS_CODEC_MAX_EVENTS + HS_TRACE_EVENTS_AHEAD];
};

static void release(struct hs_trace_workspace *workspace)
{
    if (!workspace || --workspace->users)
        return;
    free(workspace->stored);
    free(workspace->scratch);
    free(workspace);
}

static struct hs_trace_workspace *create_workspace(void)
{
    struct hs_trace_workspace *workspace = malloc(sizeof *workspace);
    if (!workspace)
        return NULL;
    *workspace = (struct hs_trace_workspace){.capacity = HS_CODEC_MAX_OUTPUT, .users = 1};
    workspace->stored = malloc(workspace->capacity);
    workspace->scratch = aligned_alloc(64, HS_CODEC_SCRATCH_SIZE);
    if (workspace->stored && workspace->scratch)
        return workspace;
    release(workspace);
    return NULL;
}

struct hs_trace_decoder *hs_trace_decoder__create(const struct hs_trace *trace)
{
    (void)trace;
    return hs_trace_decoder__create_sharing(NULL);
}

struct hs_trace_decoder *hs_trace_decoder__create_sharing(const struct hs_trace_decoder *other)
{
    struct hs_trace_decoder *decoder = malloc(sizeof *decoder);
    if (!decoder)
        return NULL;
    decoder->workspace = other ? other->workspace : create_workspace();
    if (!decoder->workspace) {
        free(decoder);
        return NULL;
    }
    decoder->workspace->users += other != NULL;
    return decoder;
}

void hs_trace_decoder__free(struct hs_trace_decoder *decoder)
{
    if (!decoder)
        return;
    release(decoder->workspace);
    free(decoder);
}

int hs_trace__stored(const struct hs_trace *trace, const struct hs_trace_chunk *chunk, uint8_t *to)
{
    // The payload's checksum stands in the header; a live chunk has none.
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

int hs_trace__decode(const struct hs_trace *trace, const struct hs_trace_chunk *chunk, struct hs_trace_decoder *decoder,
                     const struct hs_event **events, size_t *count)
{
    struct hs_trace_workspace *workspace = decoder->workspace;
    int damaged = 0;
    *events = decoder->events;
    *count = 0;
    if (chunk->stored_length > workspace->capacity) {
        uint8_t *grown = realloc(workspace->stored, chunk->stored_length);
        if (!grown)
            return -ENOMEM;
        workspace->stored = grown;
        workspace->capacity = chunk->stored_length;
    }
    int failed = hs_trace__stored(trace, chunk, workspace->stored);
    if (failed)
        return failed;
    if (chunk->flags & HS_CHUNK_LIVE) {
        // The slot header comes first; its base time was kept when the slot was found.
        const size_t skip = HS_SLOT_RECORDS_OFFSET - HS_CHUNK_HEADER_SIZE;
        uint64_t base = 0;
        for (unsigned i = 0; i < 8; i++)
            base |= (uint64_t)workspace->stored[16 + i]
                    << 8 * (trace->target.byte_order == HS_BYTE_ORDER_BIG ? 7 - i : i);
        *count = hs_records_decode(&trace->target, workspace->stored + skip, (chunk->stored_length - skip) / 8, base,
                                   decoder->events, HS_CODEC_MAX_EVENTS, &damaged);
    } else {
        *count = hs_events_decode(&trace->target, workspace->stored, chunk->stored_length, workspace->scratch,
                                  decoder->events, HS_CODEC_MAX_EVENTS, &damaged);
    }
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
