// SPDX-License-Identifier: MIT OR Apache-2.0
#include "format/meta.h"
#include "format/varint.h"

// What a node takes at most, with the record that says its number.
enum { NODE_ROOM = 1 + 1 + 5 + 1 + 5 + HS_VARINT_MAX };

// A record is put together behind its tag byte, which is written at the end. NULL all the way when it does not fit.
static uint8_t *put(uint8_t *at, const uint8_t *end, uint64_t value)
{
    return at ? hs_varint_put(at, end, value) : NULL;
}

static uint8_t *put_bytes(uint8_t *at, const uint8_t *end, const void *data, size_t length)
{
    at = put(at, end, length);
    if (!at || (size_t)(end - at) < length)
        return NULL;
    __builtin_memcpy(at, data, length);
    return at + length;
}

static unsigned varint_size(uint64_t value)
{
    unsigned size = 1;
    for (; value >= 0x80; value >>= 7)
        size++;
    return size;
}

static size_t bytes_size(size_t length)
{
    return varint_size(length) + length;
}

static bool finish(struct hs_meta_writer *writer, uint8_t tag, uint8_t *after)
{
    if (!after) {
        // What was half written must not be taken for records.
        if (writer->at < writer->end)
            writer->at[0] = HS_META_END;
        return false;
    }
    if (after < writer->end)
        *after = HS_META_END;
    __atomic_store_n(writer->at, tag, __ATOMIC_RELEASE);
    writer->at = after;
    return true;
}

// Writes the length of a record of tag and body; returns where the body starts, NULL when the record does not fit.
static uint8_t *open_record(const struct hs_meta_writer *writer, size_t body)
{
    size_t room = (size_t)(writer->end - writer->at);
    if (room < 1 || room - 1 < varint_size(body) || room - 1 - varint_size(body) < body)
        return NULL;
    return hs_varint_put(writer->at + 1, writer->end, body);
}

void hs_meta_begin(struct hs_meta_writer *writer, void *memory, size_t length)
{
    *writer = (struct hs_meta_writer){.at = memory, .end = (uint8_t *)memory + length};
}

static void write_base(struct hs_meta_writer *writer, uint32_t id)
{
    uint8_t *at = open_record(writer, varint_size(id));
    finish(writer, HS_META_NODE_BASE, put(at, writer->end, id));
    writer->last_pc = 0;
}

static inline uint8_t *put_in_room(uint8_t *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    return at;
}

bool hs_meta_node(struct hs_meta_writer *writer, uint32_t id, uint32_t parent, uint64_t pc)
{
    if (writer->end - writer->at < NODE_ROOM)
        return finish(writer, HS_META_NODE, NULL);
    if (!writer->next_node || writer->next_node != id)
        write_base(writer, id);
    uint64_t difference = pc - writer->last_pc;
    uint8_t *at = put_in_room(writer->at + 1, id - parent);
    at = put_in_room(at, difference << 1 ^ (0 - (difference >> 63)));
    writer->next_node = id + 1;
    writer->last_pc = pc;
    return finish(writer, HS_META_NODE, at);
}

bool hs_meta_module(struct hs_meta_writer *writer, uint64_t time, uint64_t start, uint64_t end, uint64_t bias,
                    const void *build_id, size_t build_id_length, const char *path, size_t path_length)
{
    size_t body = varint_size(time) + varint_size(start) + varint_size(end) + varint_size(bias) +
                  bytes_size(build_id_length) + bytes_size(path_length);
    uint8_t *at = open_record(writer, body);
    at = put(at, writer->end, time);
    at = put(at, writer->end, start);
    at = put(at, writer->end, end);
    at = put(at, writer->end, bias);
    at = put_bytes(at, writer->end, build_id, build_id_length);
    return finish(writer, HS_META_MODULE, put_bytes(at, writer->end, path, path_length));
}

bool hs_meta_layout(struct hs_meta_writer *writer, uint32_t hash, uint64_t inode)
{
    uint8_t *at = open_record(writer, varint_size(hash) + varint_size(inode));
    at = put(at, writer->end, hash);
    return finish(writer, HS_META_LAYOUT, put(at, writer->end, inode));
}

bool hs_meta_unload(struct hs_meta_writer *writer, uint64_t time, uint64_t start)
{
    uint8_t *at = open_record(writer, varint_size(time) + varint_size(start));
    return finish(writer, HS_META_UNLOAD, put(put(at, writer->end, time), writer->end, start));
}

bool hs_meta_thread(struct hs_meta_writer *writer, uint32_t stream, uint32_t tid, uint64_t time, const char *name,
                    size_t name_length)
{
    size_t body = varint_size(stream) + varint_size(tid) + varint_size(time) + bytes_size(name_length);
    uint8_t *at = open_record(writer, body);
    at = put(at, writer->end, stream);
    at = put(at, writer->end, tid);
    at = put(at, writer->end, time);
    return finish(writer, HS_META_THREAD, put_bytes(at, writer->end, name, name_length));
}

bool hs_meta_clock(struct hs_meta_writer *writer, uint64_t time, uint64_t monotonic_ns, uint64_t realtime_ns)
{
    uint8_t *at = open_record(writer, varint_size(time) + varint_size(monotonic_ns) + varint_size(realtime_ns));
    at = put(at, writer->end, time);
    at = put(at, writer->end, monotonic_ns);
    return finish(writer, HS_META_CLOCK, put(at, writer->end, realtime_ns));
}

bool hs_meta_info(struct hs_meta_writer *writer, const char *key, size_t key_length, const char *value,
                  size_t value_length)
{
    uint8_t *at = open_record(writer, bytes_size(key_length) + bytes_size(value_length));
    at = put_bytes(at, writer->end, key, key_length);
    return finish(writer, HS_META_INFO, put_bytes(at, writer->end, value, value_length));
}

bool hs_meta_culled(struct hs_meta_writer *writer, uint32_t stack, uint64_t count, uint64_t size, uint64_t usable,
                    uint64_t lifetime)
{
    uint8_t *at = open_record(writer, varint_size(stack) + varint_size(count) + varint_size(size) +
                                          varint_size(usable) + varint_size(lifetime));
    at = put(at, writer->end, stack);
    at = put(at, writer->end, count);
    at = put(at, writer->end, size);
    at = put(at, writer->end, usable);
    return finish(writer, HS_META_CULLED, put(at, writer->end, lifetime));
}

bool hs_meta_toggle(struct hs_meta_writer *writer, uint64_t time, bool on)
{
    uint8_t *at = open_record(writer, varint_size(time) + 1);
    return finish(writer, HS_META_TOGGLE, put(put(at, writer->end, time), writer->end, on));
}

bool hs_meta_mark(struct hs_meta_writer *writer, uint64_t time, uint32_t stream, uint64_t value, const char *text,
                  size_t text_length)
{
    size_t body = varint_size(time) + varint_size(stream) + varint_size(value) + bytes_size(text_length);
    uint8_t *at = open_record(writer, body);
    at = put(at, writer->end, time);
    at = put(at, writer->end, stream);
    at = put(at, writer->end, value);
    return finish(writer, HS_META_MARK, put_bytes(at, writer->end, text, text_length));
}

static uint8_t *put_text(uint8_t *at, const uint8_t *end, const struct hs_bytes *bytes)
{
    return put_bytes(at, end, bytes->data, bytes->length);
}

bool hs_meta_code(struct hs_meta_writer *writer, const struct hs_meta_code *code)
{
    uint8_t *at =
        open_record(writer, varint_size(code->start) + varint_size(code->end) + varint_size(code->first_line) +
                                varint_size(code->kind) + bytes_size(code->function.length) +
                                bytes_size(code->file.length) + bytes_size(code->lines.length));
    at = put(at, writer->end, code->start);
    at = put(at, writer->end, code->end);
    at = put(at, writer->end, code->first_line);
    at = put(at, writer->end, code->kind);
    at = put_text(at, writer->end, &code->function);
    at = put_text(at, writer->end, &code->file);
    return finish(writer, HS_META_CODE, put_text(at, writer->end, &code->lines));
}

bool hs_meta_snapshot(struct hs_meta_writer *writer, uint32_t number, uint64_t time, const void *words, size_t length)
{
    uint8_t *at = open_record(writer, varint_size(number) + varint_size(time) + bytes_size(length));
    at = put(at, writer->end, number);
    at = put(at, writer->end, time);
    return finish(writer, HS_META_SNAPSHOT, put_bytes(at, writer->end, words, length));
}
