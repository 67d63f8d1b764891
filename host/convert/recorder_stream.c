// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/convert/recorder_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FRAME_LZ4 = 1, FRAME_PLAIN = 2, FRAME_HEADER = 5 };

int hs_recorder_stream__start(struct hs_recorder_stream *stream, FILE *in, uint64_t most)
{
    *stream = (struct hs_recorder_stream){.in = in, .most = most};
    stream->packed = malloc(HS_RECORDER_FRAME_MAX);
    stream->plain = malloc(HS_RECORDER_FRAME_MAX);
    return stream->packed && stream->plain ? 0 : -ENOMEM;
}

void hs_recorder_stream__free(struct hs_recorder_stream *stream)
{
    free(stream->packed);
    free(stream->plain);
    *stream = (struct hs_recorder_stream){0};
}

// ---- LZ4 -----------------------------------------------------------------------------------------------------------

struct recorder_stream_block {
    const uint8_t *at, *end;
};

// A length of four bits goes on in bytes as long as they are 255.
static bool take_length(struct recorder_stream_block *block, size_t *length)
{
    if (*length < 15)
        return true;
    uint8_t byte;
    do {
        if (block->at == block->end)
            return false;
        byte = *block->at++;
        *length += byte;
    } while (byte == 255);
    return true;
}

// Decodes one LZ4 block into at most `most` bytes. Returns their number; SIZE_MAX: the block is damaged.
static size_t decode_lz4(const uint8_t *from, size_t length, uint8_t *to, size_t most)
{
    struct recorder_stream_block block = {from, from + length};
    size_t done = 0;
    while (block.at < block.end) {
        uint8_t token = *block.at++;
        size_t literals = token >> 4, match = token & 15;
        if (!take_length(&block, &literals) || literals > (size_t)(block.end - block.at) || literals > most - done)
            return SIZE_MAX;
        memcpy(to + done, block.at, literals);
        block.at += literals;
        done += literals;
        if (block.at == block.end)
            return done;
        if (block.end - block.at < 2)
            return SIZE_MAX;
        size_t distance = block.at[0] | (size_t)block.at[1] << 8;
        block.at += 2;
        if (!take_length(&block, &match) || !distance || distance > done || match + 4 > most - done)
            return SIZE_MAX;
        // It may overlap what it makes.
        for (size_t i = 0; i < match + 4; i++, done++)
            to[done] = to[done - distance];
    }
    return done;
}

// ---- the stream ----------------------------------------------------------------------------------------------------

static bool unpack_frame(struct hs_recorder_stream *stream)
{
    uint8_t header[FRAME_HEADER];
    size_t got = stream->ended ? 0 : fread(header, 1, sizeof(header), stream->in);
    if (!got)
        return false;
    stream->cut = true;
    if (got != sizeof(header))
        return false;
    size_t length = header[1] | (size_t)header[2] << 8 | (size_t)header[3] << 16 | (size_t)header[4] << 24;
    if (length > HS_RECORDER_FRAME_MAX || fread(stream->packed, 1, length, stream->in) != length)
        return false;
    stream->at = 0;
    if (header[0] == FRAME_PLAIN) {
        memcpy(stream->plain, stream->packed, length);
        stream->length = length;
        stream->cut = false;
        return true;
    }
    stream->length =
        header[0] == FRAME_LZ4 ? decode_lz4(stream->packed, length, stream->plain, HS_RECORDER_FRAME_MAX) : SIZE_MAX;
    stream->cut = stream->length == SIZE_MAX;
    return !stream->cut;
}

static bool next_frame(struct hs_recorder_stream *stream)
{
    if (!unpack_frame(stream))
        return false;
    stream->plain_bytes += stream->length;
    stream->is_refused |= stream->plain_bytes > stream->most;
    return !stream->is_refused;
}

uint64_t hs_recorder_stream__count_rest(struct hs_recorder_stream *stream)
{
    stream->ended = false;
    while (unpack_frame(stream))
        stream->plain_bytes += stream->length;
    stream->ended = true;
    return stream->plain_bytes;
}

bool hs_recorder_stream__take(struct hs_recorder_stream *stream, void *to, uint64_t length)
{
    uint8_t *at = to;
    uint64_t wanted = length;
    while (length) {
        if (stream->at == stream->length || stream->ended) {
            stream->length = stream->at = 0;
            if (!next_frame(stream)) {
                stream->length = stream->at = 0;
                stream->ended = true;
                stream->cut |= length < wanted;
                return false;
            }
            continue;
        }
        size_t part = stream->length - stream->at;
        part = part < length ? part : (size_t)length;
        if (at) {
            memcpy(at, stream->plain + stream->at, part);
            at += part;
        }
        stream->at += part;
        length -= part;
    }
    return true;
}

uint64_t hs_recorder_stream__number(struct hs_recorder_stream *stream, unsigned bytes)
{
    uint8_t byte[8];
    uint64_t number = 0;
    if (!hs_recorder_stream__take(stream, byte, bytes))
        return 0;
    for (unsigned i = 0; i < bytes; i++)
        number |= (uint64_t)byte[i] << 8 * i;
    return number;
}

// The first byte says with its leading ones how many follow, and holds the highest bits.
uint64_t hs_recorder_stream__varint(struct hs_recorder_stream *stream)
{
    unsigned first = (unsigned)hs_recorder_stream__number(stream, 1);
    unsigned more = 0;
    while (more < 8 && first & 0x80u >> more)
        more++;
    uint64_t rest = more ? hs_recorder_stream__number(stream, more) : 0;
    return more >= 7 ? rest : rest | (uint64_t)(first & (0x7fu >> more)) << 8 * more;
}
