// SPDX-License-Identifier: MIT OR Apache-2.0
#include "format/meta.h"
#include "format/varint.h"

// A cursor that turns bad once something is not there; the caller asks at the end.
struct body {
    const uint8_t *at, *end;
    bool bad;
};

static uint64_t get(struct body *body)
{
    uint64_t value = 0;
    const uint8_t *after = body->bad ? NULL : hs_varint_get(body->at, body->end, &value);
    if (!after) {
        body->bad = true;
        return 0;
    }
    body->at = after;
    return value;
}

static struct hs_bytes get_bytes(struct body *body)
{
    uint64_t length = get(body);
    if (body->bad || length > (uint64_t)(body->end - body->at)) {
        body->bad = true;
        return (struct hs_bytes){NULL, 0};
    }
    struct hs_bytes bytes = {body->at, (size_t)length};
    body->at += length;
    return bytes;
}

void hs_meta_open(struct hs_meta_reader *reader, const void *data, size_t length)
{
    *reader = (struct hs_meta_reader){.at = data, .end = (const uint8_t *)data + length};
}

static bool read_node(struct hs_meta_reader *reader, struct hs_meta_record *record)
{
    struct body body = {reader->at, reader->end, false};
    uint64_t back = get(&body), difference = get(&body);
    // A node follows a base, has a parent before it, and ids end at 32 bits.
    if (body.bad || !reader->next_node || !back || back > reader->next_node)
        return false;
    record->id = reader->next_node;
    record->parent = reader->next_node - (uint32_t)back;
    record->pc = reader->last_pc + (difference >> 1 ^ (0 - (difference & 1)));
    reader->last_pc = record->pc;
    reader->next_node++;
    reader->at = body.at;
    return true;
}

static void read_body(struct body *body, struct hs_meta_record *record)
{
    switch (record->tag) {
    case HS_META_MODULE:
        record->time = get(body);
        record->start = get(body);
        record->end = get(body);
        record->bias = get(body);
        record->build_id = get_bytes(body);
        record->text = get_bytes(body);
        break;
    case HS_META_UNLOAD:
        record->time = get(body);
        record->start = get(body);
        break;
    case HS_META_THREAD:
        record->stream = (uint32_t)get(body);
        record->tid = (uint32_t)get(body);
        record->time = get(body);
        record->text = get_bytes(body);
        break;
    case HS_META_CLOCK:
        record->time = get(body);
        record->monotonic_ns = get(body);
        record->realtime_ns = get(body);
        break;
    case HS_META_INFO:
        record->key = get_bytes(body);
        record->text = get_bytes(body);
        break;
    case HS_META_CULLED:
        record->id = (uint32_t)get(body);
        record->count = get(body);
        record->size = get(body);
        record->usable = get(body);
        record->lifetime = get(body);
        break;
    case HS_META_TOGGLE:
        record->time = get(body);
        record->value = get(body);
        break;
    case HS_META_MARK:
        record->time = get(body);
        record->stream = (uint32_t)get(body);
        record->value = get(body);
        record->text = get_bytes(body);
        break;
    case HS_META_SNAPSHOT:
        record->id = (uint32_t)get(body);
        record->time = get(body);
        record->text = get_bytes(body);
        break;
    default:
        record->tag = HS_META_END; // unknown: skipped
    }
}

int hs_meta_next(struct hs_meta_reader *reader, struct hs_meta_record *record)
{
    while (reader->at < reader->end && *reader->at != HS_META_END) {
        *record = (struct hs_meta_record){.tag = *reader->at++};
        if (record->tag == HS_META_NODE)
            return read_node(reader, record) ? 1 : -1;
        if (record->tag >= 0x80)
            return -1;
        struct body length = {reader->at, reader->end, false};
        struct hs_bytes bytes = get_bytes(&length);
        if (length.bad)
            return -1;
        reader->at = length.at;
        struct body body = {bytes.data, bytes.data + bytes.length, false};
        if (record->tag == HS_META_NODE_BASE) {
            reader->next_node = (uint32_t)get(&body);
            reader->last_pc = 0;
            continue;
        }
        read_body(&body, record);
        if (record->tag == HS_META_END)
            continue;
        return body.bad ? -1 : 1;
    }
    return 0;
}
