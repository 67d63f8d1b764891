// SPDX-License-Identifier: MIT OR Apache-2.0
#include "trace_reader.h"

#include "format/chunk.h"
#include "format/crc32c.h"
#include "format/event_codec.h"
#include "format/meta.h"
#include "format/meta_codec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS_MOST = 1 << 21, NODES_MOST = 1 << 20, SEQUENCES_MOST = 1 << 16 };

static _Alignas(16) uint8_t scratch[HS_CODEC_SCRATCH_SIZE];
static bool sealed_sequences[SEQUENCES_MOST];

static struct hs_codec_target target_of(const struct trace *trace)
{
    return (struct hs_codec_target){trace->header.byte_order, trace->header.pointer_size, trace->header.address_shift};
}

static void add_meta(struct trace *trace, const uint8_t *data, size_t length)
{
    struct hs_meta_reader reader;
    struct hs_meta_record record;
    hs_meta_open(&reader, data, length);
    int more;
    while ((more = hs_meta_next(&reader, &record)) > 0) {
        trace->marks += record.tag == HS_META_MARK;
        trace->threads += record.tag == HS_META_THREAD;
        trace->toggles += record.tag == HS_META_TOGGLE;
        trace->clock_points += record.tag == HS_META_CLOCK;
        trace->infos += record.tag == HS_META_INFO;
        trace->culled += record.tag == HS_META_CULLED ? record.count : 0;
        if (record.tag == HS_META_NODE && record.id < NODES_MOST) {
            trace->nodes[record.id] = (struct trace_node){record.parent, record.pc};
            trace->node_count++;
        }
    }
    trace->damaged += more < 0;
}

static void added(struct trace *trace, size_t count, uint32_t stream, int damaged)
{
    for (size_t i = 0; i < count; i++)
        trace->streams[trace->count + i] = stream;
    trace->count += count;
    trace->damaged += damaged != 0;
}

static void add_sealed(struct trace *trace, const struct hs_chunk_header *chunk, const uint8_t *payload)
{
    if (hs_crc32c(0, payload, chunk->stored_length) != chunk->payload_crc) {
        trace->damaged++;
        return;
    }
    if (chunk->sequence < SEQUENCES_MOST)
        sealed_sequences[chunk->sequence] = true;
    if (chunk->kind == HS_CHUNK_EVENTS) {
        struct hs_codec_target target = target_of(trace);
        int damaged;
        size_t got = hs_events_decode(&target, payload, chunk->stored_length, scratch, trace->events + trace->count,
                                      EVENTS_MOST - trace->count, &damaged);
        added(trace, got, chunk->stream, damaged || got != chunk->count);
    } else if (chunk->kind == HS_CHUNK_META && chunk->flags & HS_CHUNK_PACKED) {
        uint8_t *plain = malloc(chunk->plain_length + 1);
        if (hs_meta_unpack(payload, chunk->stored_length, scratch, plain, chunk->plain_length) == 0)
            add_meta(trace, plain, chunk->plain_length);
        else
            trace->damaged++;
        free(plain);
    } else if (chunk->kind == HS_CHUNK_META) {
        add_meta(trace, payload, chunk->stored_length);
    }
}

static void add_slot(struct trace *trace, const uint8_t *payload)
{
    struct hs_slot_header slot;
    memcpy(&slot, payload, sizeof slot);
    const uint8_t *records = payload + sizeof slot;
    if (slot.use == HS_SLOT_FREE || (slot.sequence < SEQUENCES_MOST && sealed_sequences[slot.sequence]))
        return;
    if (slot.use == HS_SLOT_META) {
        add_meta(trace, records, HS_SLOT_RECORDS_SIZE);
        return;
    }
    struct hs_codec_target target = target_of(trace);
    int damaged;
    size_t got = hs_records_decode(&target, records, HS_SLOT_RECORDS_SIZE / 8, slot.base_time,
                                   trace->events + trace->count, EVENTS_MOST - trace->count, &damaged);
    added(trace, got, slot.stream, damaged);
}

static uint8_t *read_file(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    fseek(file, 0, SEEK_END);
    *length = (size_t)ftell(file);
    rewind(file);
    uint8_t *data = malloc(*length + 1);
    *length = fread(data, 1, *length, file);
    fclose(file);
    return data;
}

static void each_chunk(struct trace *trace, const uint8_t *data, size_t length, bool slots)
{
    struct hs_chunk_header chunk;
    for (size_t at = HS_FILE_HEADER_SIZE; at + HS_CHUNK_HEADER_SIZE <= length;) {
        if (hs_chunk_read(data + at, &chunk) != 0 || at + HS_CHUNK_HEADER_SIZE + chunk.stored_length > length)
            return;
        const uint8_t *payload = data + at + HS_CHUNK_HEADER_SIZE;
        if (slots && chunk.kind == HS_CHUNK_SLOT)
            add_slot(trace, payload);
        else if (!slots && !(chunk.flags & HS_CHUNK_LIVE))
            add_sealed(trace, &chunk, payload);
        at += hs_chunk_size(chunk.stored_length);
    }
}

bool trace_read(const char *path, struct trace *trace)
{
    size_t length = 0;
    uint8_t *data = read_file(path, &length);
    *trace = (struct trace){.file_size = length};
    if (!data || length < HS_FILE_HEADER_SIZE || hs_file_header_read(data, &trace->header) != HS_HEADER_GOOD) {
        free(data);
        return false;
    }
    trace->events = calloc(EVENTS_MOST, sizeof *trace->events);
    trace->streams = calloc(EVENTS_MOST, sizeof *trace->streams);
    trace->nodes = calloc(NODES_MOST, sizeof *trace->nodes);
    memset(sealed_sequences, 0, sizeof sealed_sequences);
    each_chunk(trace, data, length, false);
    trace->sealed = trace->count;
    each_chunk(trace, data, length, true);
    free(data);
    return true;
}

void trace_free(struct trace *trace)
{
    free(trace->events);
    free(trace->streams);
    free(trace->nodes);
}
