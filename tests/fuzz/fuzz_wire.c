// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What comes over a connection: a hello, then frames. The first byte says whether they are in the open, or encrypted
// with a key that is known here, so that what is sealed can be read back and damaged.
#include "format/wire.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PAYLOAD(frame) ((frame) + HS_WIRE_LENGTH_SIZE + HS_WIRE_KIND_SIZE)

// In memory of exactly this size, so that a sanitizer sees what lies outside.
static uint8_t *copy_of(const uint8_t *data, size_t size, size_t room)
{
    uint8_t *copy = malloc(size + room ? size + room : 1);
    if (!copy)
        exit(1);
    memcpy(copy, data, size);
    return copy;
}

static void check_hello(const uint8_t *data)
{
    uint8_t *bytes = copy_of(data, HS_WIRE_HELLO_SIZE, 0), again[HS_WIRE_HELLO_SIZE];
    struct hs_wire_hello hello;
    if (hs_wire_hello__read(bytes, &hello)) {
        hs_wire_hello__write(&hello, again);
        if (memcmp(again, bytes, sizeof again))
            abort();
    }
    free(bytes);
}

static void check_frames_in_the_open(const uint8_t *data, size_t size)
{
    struct hs_wire_direction direction = {0};
    while (size >= HS_WIRE_LENGTH_SIZE) {
        size_t frame_size = hs_wire__frame_size(&direction, data);
        if (frame_size == 0 || frame_size > size)
            return;
        uint8_t *frame = copy_of(data, frame_size, 0);
        enum hs_wire_kind kind;
        size_t length;
        bool opened = hs_wire__open(&direction, frame, frame_size, &kind, &length);
        if (opened && (length > HS_WIRE_PAYLOAD_MAX || length + HS_WIRE_LENGTH_SIZE + HS_WIRE_KIND_SIZE != frame_size))
            abort();
        free(frame);
        if (!opened)
            return;
        data += frame_size, size -= frame_size;
    }
}

// `data`: which byte to damage and how, then a payload.
static void check_sealed_frame(struct hs_wire_direction *from, const uint8_t *data, size_t size)
{
    if (size < 3 || size - 3 > HS_WIRE_PAYLOAD_MAX)
        return;
    size_t length = size - 3, at = (size_t)hs_wire__get(data, 2), got;
    struct hs_wire_direction to = *from;
    uint8_t head[HS_WIRE_LENGTH_SIZE + HS_WIRE_KIND_SIZE] = {0},
                                       *frame = copy_of(head, sizeof head, size + HS_WIRE_TAG_SIZE);
    memcpy(PAYLOAD(frame), data + 3, length);
    size_t frame_size = hs_wire__seal(from, HS_WIRE_DATA, frame, length);
    enum hs_wire_kind kind;
    frame[at % frame_size] ^= data[2];
    bool opened = hs_wire__open(&to, frame, frame_size, &kind, &got);
    if (opened != (data[2] == 0))
        abort();
    if (opened && (kind != HS_WIRE_DATA || got != length || memcmp(PAYLOAD(frame), data + 3, length)))
        abort();
    free(frame);
}

// Nobody without the key makes a frame that opens.
static void check_forged_frame(const struct hs_wire_direction *from, const uint8_t *data, size_t size)
{
    struct hs_wire_direction to = *from;
    enum hs_wire_kind kind;
    size_t length;
    uint8_t *frame = copy_of(data, size, 0);
    if (hs_wire__open(&to, frame, size, &kind, &length))
        abort();
    free(frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 + HS_WIRE_HELLO_SIZE)
        return 0;
    unsigned manner = *data++ % 3;
    const uint8_t *hello = data;
    struct hs_wire_direction from_device, from_host;
    check_hello(hello);
    data += HS_WIRE_HELLO_SIZE, size -= 1 + HS_WIRE_HELLO_SIZE;
    if (manner == 0) {
        check_frames_in_the_open(data, size);
        return 0;
    }
    hs_wire__derive(&from_device, &from_host, "the key of the fuzzer", 21, hello, hello);
    if (manner == 1)
        check_sealed_frame(&from_device, data, size);
    else
        check_forged_frame(&from_host, data, size);
    return 0;
}
