// SPDX-License-Identifier: MIT OR Apache-2.0
//
// LEB128: seven bits per byte, least significant first, the high bit on all but the last byte.
#ifndef HEAPSONDE_FORMAT_VARINT_H
#define HEAPSONDE_FORMAT_VARINT_H

#include <stddef.h>
#include <stdint.h>

#define HS_VARINT_MAX 10

// Returns the end, or NULL when it does not fit (then bytes up to `end` may have been written).
static inline uint8_t *hs_varint_put(uint8_t *at, const uint8_t *end, uint64_t value)
{
    while (value >= 0x80 && at < end) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    if (at >= end)
        return NULL;
    *at++ = (uint8_t)value;
    return at;
}

// Returns the end, or NULL when it is cut off or longer than ten bytes. Bits above 64 are lost.
static inline const uint8_t *hs_varint_get(const uint8_t *at, const uint8_t *end, uint64_t *value)
{
    uint64_t result = 0;
    for (unsigned shift = 0; at < end && shift < 70; shift += 7) {
        uint8_t byte = *at++;
        result |= (uint64_t)(byte & 0x7f) << (shift < 64 ? shift : 63);
        if (byte < 0x80) {
            *value = result;
            return at;
        }
    }
    return NULL;
}

#endif
