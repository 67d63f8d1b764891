// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/gather/parcel.h"

#include "format/chunk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { VERSION_AT = 8, ROLE_AT = 10, SECURITY_AT = 11, SESSION_AT = 16, NUMBER_AT = 40 };
enum { ANSWER_MIN = 8 + HS_TRACE_ID_SIZE + HS_PARCEL_SESSION_SIZE + 8 };
_Static_assert(SESSION_AT + HS_PARCEL_SESSION_SIZE == NUMBER_AT && NUMBER_AT + 8 == HS_WIRE_HELLO_SIZE, "a hello");
_Static_assert(HS_PARCEL_PAIRS_MAX + HS_WIRE_STREAM_MIN <= HS_WIRE_PAYLOAD_MAX, "they are in one frame");

void hs_parcel_from__begin(struct hs_parcel_from *from)
{
    // So few bytes are never cut short; without random numbers there are no safe keys.
    if (getrandom(from->session, sizeof(from->session), 0) != (ssize_t)sizeof(from->session))
        abort();
    from->number = 0;
}

// ---- hellos --------------------------------------------------------------------------------------------------------

// `from` NULL: what stands for the side that sends nothing.
static void write_hello(uint8_t *bytes, const struct hs_shared_key *key, uint8_t role,
                        const struct hs_parcel_from *from)
{
    memset(bytes, 0, HS_WIRE_HELLO_SIZE);
    memcpy(bytes, HS_PARCEL_MAGIC, VERSION_AT);
    hs_wire__put(bytes + VERSION_AT, HS_WIRE_VERSION, 2);
    bytes[ROLE_AT] = role;
    bytes[SECURITY_AT] = hs_shared_key__security(key);
    if (!from)
        return;
    memcpy(bytes + SESSION_AT, from->session, HS_PARCEL_SESSION_SIZE);
    hs_wire__put(bytes + NUMBER_AT, from->number, 8);
}

static enum hs_refusal read_hello(const uint8_t *bytes, const struct hs_shared_key *key, uint8_t role,
                                  struct hs_parcel_from *from)
{
    uint8_t expected[HS_WIRE_HELLO_SIZE];
    memcpy(from->session, bytes + SESSION_AT, HS_PARCEL_SESSION_SIZE);
    from->number = hs_wire__get(bytes + NUMBER_AT, 8);
    write_hello(expected, key, role, from);
    if (memcmp(bytes, expected, ROLE_AT) != 0)
        return HS_REFUSAL_NO_HELLO;
    if (bytes[ROLE_AT] != role)
        return HS_REFUSAL_ROLE;
    if (bytes[SECURITY_AT] != expected[SECURITY_AT])
        return HS_REFUSAL_SECURITY;
    return memcmp(bytes, expected, HS_WIRE_HELLO_SIZE) ? HS_REFUSAL_NO_HELLO : HS_REFUSAL_NONE;
}

static struct hs_wire_direction direction_of(const struct hs_shared_key *key, uint8_t role, const uint8_t *hello)
{
    struct hs_wire_direction from_device = {0}, from_host = {0}, direction;
    uint8_t other[HS_WIRE_HELLO_SIZE];
    bool device = role == HS_WIRE_DEVICE;
    write_hello(other, key, device ? HS_WIRE_HOST : HS_WIRE_DEVICE, NULL);
    if (key->length)
        hs_wire__derive(&from_device, &from_host, key->bytes, key->length, device ? hello : other,
                        device ? other : hello);
    direction = device ? from_device : from_host;
    hs_wire__wipe(&from_device, sizeof(from_device));
    hs_wire__wipe(&from_host, sizeof(from_host));
    return direction;
}

// ---- messages of devices -------------------------------------------------------------------------------------------

static uint8_t *payload_of(uint8_t *frame)
{
    return frame + HS_WIRE_LENGTH_SIZE + HS_WIRE_KIND_SIZE;
}

static size_t write_stream(struct hs_wire_direction *direction, const struct hs_parcel *parcel, uint8_t *frame)
{
    uint8_t *payload = payload_of(frame);
    memcpy(payload, parcel->trace_id, HS_TRACE_ID_SIZE);
    hs_wire__put(payload + HS_TRACE_ID_SIZE, parcel->first, 8);
    hs_wire__put(payload + HS_TRACE_ID_SIZE + 8, parcel->end, 8);
    memcpy(payload + HS_WIRE_STREAM_MIN, parcel->pairs, parcel->pairs_length);
    return hs_wire__seal(direction, HS_WIRE_STREAM, frame, HS_WIRE_STREAM_MIN + parcel->pairs_length);
}

static size_t write_data(struct hs_wire_direction *direction, const struct hs_parcel *parcel, uint64_t at,
                         uint8_t *frame)
{
    uint64_t length = parcel->end - at;
    if (length > HS_PARCEL_PIECE)
        length = HS_PARCEL_PIECE;
    hs_wire__put(payload_of(frame), at, 8);
    memcpy(payload_of(frame) + 8, (const uint8_t *)parcel->pieces[0].iov_base + (at - parcel->first), (size_t)length);
    return hs_wire__seal(direction, HS_WIRE_DATA, frame, 8 + (size_t)length);
}

size_t hs_parcel__write(const struct hs_shared_key *key, const struct hs_parcel *parcel, uint8_t *out)
{
    write_hello(out, key, HS_WIRE_DEVICE, &parcel->from);
    struct hs_wire_direction direction = direction_of(key, HS_WIRE_DEVICE, out);
    size_t size = HS_WIRE_HELLO_SIZE;
    size += write_stream(&direction, parcel, out + size);
    for (uint64_t at = parcel->first; at < parcel->end; at += HS_PARCEL_PIECE)
        size += write_data(&direction, parcel, at, out + size);
    if (parcel->ended) {
        hs_wire__put(payload_of(out + size), parcel->end, 8);
        size += hs_wire__seal(&direction, HS_WIRE_END, out + size, 8);
    }
    hs_wire__wipe(&direction, sizeof(direction));
    return size;
}

static enum hs_refusal take_stream(struct hs_parcel *parcel, uint8_t *payload, size_t length)
{
    if (parcel->pairs)
        return HS_REFUSAL_ORDER;
    if (length < HS_WIRE_STREAM_MIN)
        return HS_REFUSAL_STREAM;
    memcpy(parcel->trace_id, payload, HS_TRACE_ID_SIZE);
    parcel->first = hs_wire__get(payload + HS_TRACE_ID_SIZE, 8);
    parcel->end = hs_wire__get(payload + HS_TRACE_ID_SIZE + 8, 8);
    parcel->pairs = payload + HS_WIRE_STREAM_MIN;
    parcel->pairs_length = length - HS_WIRE_STREAM_MIN;
    return parcel->first <= parcel->end && parcel->end <= INT64_MAX ? HS_REFUSAL_NONE : HS_REFUSAL_STREAM;
}

static enum hs_refusal take_data(struct hs_parcel *parcel, uint64_t *at, uint8_t *payload, size_t length)
{
    if (!parcel->pairs || parcel->ended || parcel->count == HS_PARCEL_PIECES)
        return HS_REFUSAL_ORDER;
    if (length < 8)
        return HS_REFUSAL_FRAME_SIZE;
    length -= 8;
    if (hs_wire__get(payload, 8) != *at || length > parcel->end - *at)
        return HS_REFUSAL_OFFSET;
    parcel->pieces[parcel->count++] = (struct iovec){payload + 8, length};
    *at += length;
    return HS_REFUSAL_NONE;
}

static enum hs_refusal take_end(struct hs_parcel *parcel, uint64_t at, const uint8_t *payload, size_t length)
{
    if (!parcel->pairs || parcel->ended)
        return HS_REFUSAL_ORDER;
    if (length < 8)
        return HS_REFUSAL_FRAME_SIZE;
    parcel->ended = true;
    return hs_wire__get(payload, 8) == at && at == parcel->end ? HS_REFUSAL_NONE : HS_REFUSAL_OFFSET;
}

static enum hs_refusal open_frames(struct hs_wire_direction *direction, uint8_t *bytes, size_t size,
                                   struct hs_parcel *parcel)
{
    enum hs_refusal refusal = HS_REFUSAL_NONE;
    enum hs_wire_kind kind;
    size_t length, used = 0;
    uint64_t at = 0;
    while (used < size && !refusal) {
        size_t frame = size - used < HS_WIRE_LENGTH_SIZE ? 0 : hs_wire__frame_size(direction, bytes + used);
        if (!frame || frame > size - used)
            return HS_REFUSAL_FRAME_SIZE;
        if (!hs_wire__open(direction, bytes + used, frame, &kind, &length))
            return used ? HS_REFUSAL_FRAME : HS_REFUSAL_KEY;
        uint8_t *payload = payload_of(bytes + used);
        if (kind == HS_WIRE_STREAM) {
            refusal = take_stream(parcel, payload, length);
            at = parcel->first;
        } else if (kind == HS_WIRE_DATA) {
            refusal = take_data(parcel, &at, payload, length);
        } else if (kind == HS_WIRE_END) {
            refusal = take_end(parcel, at, payload, length);
        }
        used += frame;
    }
    if (refusal)
        return refusal;
    // One that was cut between two frames.
    return parcel->pairs && at == parcel->end ? HS_REFUSAL_NONE : HS_REFUSAL_STREAM;
}

static enum hs_refusal open_file(const struct hs_shared_key *key, uint8_t *bytes, size_t size, struct hs_parcel *parcel)
{
    struct hs_file_header header;
    if (key->length)
        return HS_REFUSAL_SECURITY;
    if (size < HS_FILE_HEADER_SIZE || hs_file_header_read(bytes, &header) != HS_HEADER_GOOD)
        return HS_REFUSAL_HEADER;
    memcpy(parcel->trace_id, bytes + offsetof(struct hs_file_header, trace_id), HS_TRACE_ID_SIZE);
    parcel->pairs = bytes;
    parcel->end = size;
    parcel->ended = true;
    parcel->pieces[parcel->count++] = (struct iovec){bytes, size};
    return HS_REFUSAL_NONE;
}

enum hs_refusal hs_parcel__open(const struct hs_shared_key *key, uint8_t *bytes, size_t size, struct hs_parcel *parcel)
{
    memset(parcel, 0, sizeof(*parcel));
    if (size >= HS_FILE_MAGIC_LENGTH && !memcmp(bytes, HS_FILE_MAGIC, HS_FILE_MAGIC_LENGTH))
        return open_file(key, bytes, size, parcel);
    if (size < HS_WIRE_HELLO_SIZE)
        return HS_REFUSAL_NO_HELLO;
    enum hs_refusal refusal = read_hello(bytes, key, HS_WIRE_DEVICE, &parcel->from);
    if (refusal)
        return refusal;
    struct hs_wire_direction direction = direction_of(key, HS_WIRE_DEVICE, bytes);
    refusal = open_frames(&direction, bytes + HS_WIRE_HELLO_SIZE, size - HS_WIRE_HELLO_SIZE, parcel);
    hs_wire__wipe(&direction, sizeof(direction));
    return refusal;
}

// ---- answers -------------------------------------------------------------------------------------------------------

size_t hs_parcel_answer__write(const struct hs_shared_key *key, const struct hs_parcel_answer *answer,
                               uint8_t out[HS_PARCEL_ANSWER_MAX])
{
    write_hello(out, key, HS_WIRE_HOST, &answer->from);
    struct hs_wire_direction direction = direction_of(key, HS_WIRE_HOST, out);
    uint8_t *frame = out + HS_WIRE_HELLO_SIZE, *payload = payload_of(frame);
    size_t length = answer->kind == HS_WIRE_REFUSED ? strnlen(answer->text, HS_PARCEL_TEXT) : 0;
    hs_wire__put(payload, answer->has, 8);
    memcpy(payload + 8, answer->trace_id, HS_TRACE_ID_SIZE);
    memcpy(payload + 8 + HS_TRACE_ID_SIZE, answer->to.session, HS_PARCEL_SESSION_SIZE);
    hs_wire__put(payload + ANSWER_MIN - 8, answer->to.number, 8);
    memcpy(payload + ANSWER_MIN, answer->text, length);
    size_t size = hs_wire__seal(&direction, answer->kind, frame, ANSWER_MIN + length);
    hs_wire__wipe(&direction, sizeof(direction));
    return HS_WIRE_HELLO_SIZE + size;
}

static bool open_answer_frame(struct hs_wire_direction *direction, uint8_t *frame, size_t size,
                              struct hs_parcel_answer *answer)
{
    size_t length;
    if (!hs_wire__open(direction, frame, size, &answer->kind, &length) || length < ANSWER_MIN)
        return false;
    const uint8_t *payload = payload_of(frame);
    answer->has = hs_wire__get(payload, 8);
    memcpy(answer->trace_id, payload + 8, HS_TRACE_ID_SIZE);
    memcpy(answer->to.session, payload + 8 + HS_TRACE_ID_SIZE, HS_PARCEL_SESSION_SIZE);
    answer->to.number = hs_wire__get(payload + ANSWER_MIN - 8, 8);
    length -= ANSWER_MIN;
    if (length >= HS_PARCEL_TEXT)
        length = HS_PARCEL_TEXT - 1;
    memcpy(answer->text, payload + ANSWER_MIN, length);
    return answer->kind == HS_WIRE_ACK || answer->kind == HS_WIRE_END || answer->kind == HS_WIRE_REFUSED;
}

bool hs_parcel_answer__open(const struct hs_shared_key *key, uint8_t *bytes, size_t size,
                            struct hs_parcel_answer *answer)
{
    memset(answer, 0, sizeof(*answer));
    if (size < HS_WIRE_HELLO_SIZE || read_hello(bytes, key, HS_WIRE_HOST, &answer->from))
        return false;
    struct hs_wire_direction direction = direction_of(key, HS_WIRE_HOST, bytes);
    bool good = open_answer_frame(&direction, bytes + HS_WIRE_HELLO_SIZE, size - HS_WIRE_HELLO_SIZE, answer);
    hs_wire__wipe(&direction, sizeof(direction));
    return good;
}

bool hs_parcel__answer_topic(char *to, size_t size, const char *topic, const uint8_t session[HS_PARCEL_SESSION_SIZE])
{
    char hex[2 * HS_PARCEL_SESSION_SIZE + 1];
    for (size_t i = 0; i < HS_PARCEL_SESSION_SIZE; i++)
        snprintf(hex + 2 * i, 3, "%02x", session[i]);
    return (size_t)snprintf(to, size, "%s/ack/%s", topic, hex) < size;
}
