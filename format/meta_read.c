// SPDX-License-Identifier: MIT OR Apache-2.0
#include "format/entropy.h"
#include "format/meta.h"
#include "format/varint.h"

// A cursor that turns bad once something is not there; the caller asks at the end.
struct meta_read_body {
    const uint8_t *at, *end;
    bool bad;
};

static uint64_t get(struct meta_read_body *body)
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

static struct hs_bytes get_bytes(struct meta_read_body *body)
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
    struct meta_read_body body = {reader->at, reader->end, false};
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

// A varint of up to eight bytes, all of which can be read. Its length cannot be predicted: so there is no branch on it.
// Returns the length, 0 if it is longer.
static inline unsigned get_short(const uint8_t *at, uint64_t *value)
{
    uint64_t word = hs_load_little64(at), last = ~word & 0x8080808080808080u;
    if (!last)
        return 0;
    word &= last ^ (last - 1);
    word = (word & 0x007f007f007f007f) | (word & 0x7f007f007f007f00) >> 1;
    word = (word & 0x00003fff00003fff) | (word & 0x3fff00003fff0000) >> 2;
    *value = (word & 0x0fffffff) | (word & 0x0fffffff00000000) >> 4;
    return ((unsigned)__builtin_ctzll(last) + 1) / 8;
}

#define NODE_BYTES (1 + 2 * sizeof(uint64_t)) // that are read of a node, whatever its length

size_t hs_meta_nodes(struct hs_meta_reader *reader, uint32_t *first, struct hs_meta_node *nodes, size_t max)
{
    const uint8_t *at = reader->at, *end = reader->end;
    uint32_t next = reader->next_node;
    uint64_t pc = reader->last_pc, back = 0, difference = 0;
    size_t count = 0;
    *first = next;
    for (; count < max && next && (size_t)(end - at) >= NODE_BYTES && *at == HS_META_NODE; count++, next++) {
        unsigned length = get_short(at + 1, &back);
        unsigned other = get_short(at + 1 + length, &difference);
        if (!length || !other || !back || back > next)
            break;
        pc += difference >> 1 ^ (0 - (difference & 1));
        nodes[count] = (struct hs_meta_node){.pc = pc, .parent = next - (uint32_t)back};
        at += 1 + length + other;
    }
    reader->at = at;
    reader->next_node = next;
    reader->last_pc = pc;
    return count;
}

static void read_body(struct meta_read_body *body, struct hs_meta_record *record)
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
    case HS_META_LAYOUT:
        record->value = get(body);
        record->inode = body->at < body->end ? get(body) : 0;
        break;
    case HS_META_CODE:
        record->code.start = get(body);
        record->code.end = get(body);
        record->code.first_line = (uint32_t)get(body);
        record->code.kind = (uint8_t)get(body);
        record->code.function = get_bytes(body);
        record->code.file = get_bytes(body);
        record->code.lines = get_bytes(body);
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
        struct meta_read_body length = {reader->at, reader->end, false};
        struct hs_bytes bytes = get_bytes(&length);
        if (length.bad)
            return -1;
        reader->at = length.at;
        struct meta_read_body body = {bytes.data, bytes.data + bytes.length, false};
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
