// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A bounded byte reader. Reading past the end yields 0 and sets `failed`; it never touches a byte outside.
#ifndef HEAPSONDE_UNWIND_READER_H
#define HEAPSONDE_UNWIND_READER_H

#include "arch/word.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_reader {
    const uint8_t *at;
    const uint8_t *end;
    bool failed;
};

static inline bool hs_reader_has(struct hs_reader *reader, size_t length)
{
    if ((size_t)(reader->end - reader->at) >= length)
        return true;
    reader->failed = true;
    reader->at = reader->end;
    return false;
}

static inline uint8_t hs_read_u8(struct hs_reader *reader)
{
    return hs_reader_has(reader, 1) ? *reader->at++ : 0;
}

#define HS_DEFINE_READ(name, type, in_order)                                                                           \
    static inline type name(struct hs_reader *reader)                                                                  \
    {                                                                                                                  \
        type value = 0;                                                                                                \
        if (hs_reader_has(reader, sizeof value)) {                                                                     \
            __builtin_memcpy(&value, reader->at, sizeof value);                                                        \
            reader->at += sizeof value;                                                                                \
        }                                                                                                              \
        return in_order(value);                                                                                        \
    }
HS_DEFINE_READ(hs_read_u16, uint16_t, HS_IN_ORDER_16)
HS_DEFINE_READ(hs_read_u32, uint32_t, HS_IN_ORDER_32)
HS_DEFINE_READ(hs_read_u64, uint64_t, HS_IN_ORDER_64)

// Bits above 63 are dropped; the encoding may be padded.
static inline uint64_t hs_read_uleb128(struct hs_reader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = hs_read_u8(reader);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
}

static inline int64_t hs_read_sleb128(struct hs_reader *reader)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = hs_read_u8(reader);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    if (shift < 64 && byte & 0x40)
        value |= ~(uint64_t)0 << shift;
    return (int64_t)value;
}

static inline void hs_reader_skip(struct hs_reader *reader, uint64_t length)
{
    if (length > (uint64_t)(reader->end - reader->at)) {
        reader->failed = true;
        reader->at = reader->end;
        return;
    }
    reader->at += length;
}

#endif
