// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A growing byte buffer, with functions for the numbers of protobuf's wire format, which other formats use, too.
#ifndef HEAPSONDE_BASE_BUFFER_H
#define HEAPSONDE_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct hs_buffer {
    uint8_t *bytes;
    size_t count, room;
    bool failed; // out of memory: the contents are incomplete
};

static inline bool hs_buffer__reserve(struct hs_buffer *to, size_t more)
{
    if (more <= to->room - to->count)
        return true;
    const size_t most = SIZE_MAX / 4, room = (to->room + more) * 2;
    uint8_t *bigger = to->room > most || more > most ? NULL : realloc(to->bytes, room);
    if (!bigger) {
        to->failed = true;
        return false;
    }
    to->bytes = bigger;
    to->room = room;
    return true;
}

static inline void hs_buffer__put(struct hs_buffer *to, const void *bytes, size_t count)
{
    if (count && hs_buffer__reserve(to, count)) {
        memcpy(to->bytes + to->count, bytes, count);
        to->count += count;
    }
}

// Writes seven bits per byte, the lowest bits first.
static inline void hs_buffer__put_number(struct hs_buffer *to, uint64_t number)
{
    if (!hs_buffer__reserve(to, 10))
        return;
    for (; number >= 0x80; number >>= 7)
        to->bytes[to->count++] = (uint8_t)(number | 0x80);
    to->bytes[to->count++] = (uint8_t)number;
}

// Writes the lowest `size` bytes, the lowest byte first.
static inline void hs_buffer__put_fixed(struct hs_buffer *to, uint64_t number, size_t size)
{
    if (!hs_buffer__reserve(to, size))
        return;
    for (size_t i = 0; i < size; i++)
        to->bytes[to->count++] = (uint8_t)(number >> 8 * i);
}

// ---- fields of protobuf --------------------------------------------------------------------------------------------

// 0 is the default value of a field and is not written.
static inline void hs_buffer__put_field(struct hs_buffer *to, uint32_t field, uint64_t value)
{
    if (!value)
        return;
    hs_buffer__put_number(to, field << 3);
    hs_buffer__put_number(to, value);
}

static inline void hs_buffer__put_bytes_field(struct hs_buffer *to, uint32_t field, const void *bytes, size_t count)
{
    hs_buffer__put_number(to, field << 3 | 2);
    hs_buffer__put_number(to, count);
    hs_buffer__put(to, bytes, count);
}

// Empties the message.
static inline void hs_buffer__put_message(struct hs_buffer *to, uint32_t field, struct hs_buffer *message)
{
    hs_buffer__put_bytes_field(to, field, message->bytes, message->count);
    to->failed |= message->failed;
    message->count = 0;
}

static inline void hs_buffer__free(struct hs_buffer *bytes)
{
    free(bytes->bytes);
    *bytes = (struct hs_buffer){0};
}

#endif
