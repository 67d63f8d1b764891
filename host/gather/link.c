// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/gather/link.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

void hs_gather_link__begin(struct hs_gather_link *link, const struct hs_shared_key *key)
{
    struct hs_wire_hello hello = {.role = HS_WIRE_HOST, .security = hs_shared_key__security(key)};
    memset(link, 0, sizeof(*link));
    // 32 bytes are never cut short; without random numbers there is no safe connection.
    if (getrandom(hello.random, sizeof(hello.random), 0) != (ssize_t)sizeof(hello.random))
        abort();
    hs_wire_hello__write(&hello, link->hello);
}

enum hs_refusal hs_gather_link__take_hello(struct hs_gather_link *link, const struct hs_shared_key *key,
                                           const uint8_t bytes[HS_WIRE_HELLO_SIZE])
{
    struct hs_wire_hello hello;
    if (!hs_wire_hello__read(bytes, &hello))
        return HS_REFUSAL_NO_HELLO;
    if (hello.role != HS_WIRE_DEVICE)
        return HS_REFUSAL_ROLE;
    if (hello.security != hs_shared_key__security(key))
        return HS_REFUSAL_SECURITY;
    if (key->length)
        hs_wire__derive(&link->from_device, &link->from_host, key->bytes, key->length, bytes, link->hello);
    return HS_REFUSAL_NONE;
}

size_t hs_gather_link__auth_size(const struct hs_gather_link *link)
{
    return HS_WIRE_LENGTH_SIZE + HS_WIRE_KIND_SIZE + (link->from_device.encrypted ? HS_WIRE_TAG_SIZE : 0);
}

enum hs_refusal hs_gather_link__take_auth(struct hs_gather_link *link, uint8_t *frame)
{
    enum hs_wire_kind kind;
    size_t length;
    size_t size = hs_gather_link__auth_size(link);
    if (hs_wire__frame_size(&link->from_device, frame) != size)
        return HS_REFUSAL_KEY;
    if (!hs_wire__open(&link->from_device, frame, size, &kind, &length) || kind != HS_WIRE_AUTH)
        return HS_REFUSAL_KEY;
    return HS_REFUSAL_NONE;
}

size_t hs_gather_link__next(struct hs_gather_link *link, uint8_t *bytes, size_t length,
                            struct hs_gather_link_frame *frame, enum hs_refusal *refusal)
{
    if (length < HS_WIRE_LENGTH_SIZE)
        return 0;
    size_t size = hs_wire__frame_size(&link->from_device, bytes);
    if (!size) {
        *refusal = HS_REFUSAL_FRAME_SIZE;
        return 0;
    }
    if (length < size)
        return 0;
    if (!hs_wire__open(&link->from_device, bytes, size, &frame->kind, &frame->length)) {
        *refusal = HS_REFUSAL_FRAME;
        return 0;
    }
    frame->payload = bytes + HS_WIRE_LENGTH_SIZE + HS_WIRE_KIND_SIZE;
    return size;
}

size_t hs_gather_link__empty(struct hs_gather_link *link, enum hs_wire_kind kind, uint8_t frame[HS_GATHER_LINK_SMALL])
{
    return hs_wire__seal(&link->from_host, kind, frame, 0);
}

size_t hs_gather_link__number(struct hs_gather_link *link, enum hs_wire_kind kind, uint64_t number,
                              uint8_t frame[HS_GATHER_LINK_SMALL])
{
    hs_wire__put(frame + HS_WIRE_LENGTH_SIZE + HS_WIRE_KIND_SIZE, number, 8);
    return hs_wire__seal(&link->from_host, kind, frame, 8);
}
