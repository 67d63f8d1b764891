// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Values in ClickHouse's format RowBinary: numbers with the lowest byte first, strings and arrays behind their length.
#ifndef HEAPSONDE_HOST_FLEET_ROW_BINARY_H
#define HEAPSONDE_HOST_FLEET_ROW_BINARY_H

#include "host/base/buffer.h"

// Build ids of other lengths are cut or filled up with zeros.
enum { HS_FLEET_BUILD = 20 };

static inline void hs_row__u8(struct hs_buffer *to, uint8_t value)
{
    hs_buffer__put_fixed(to, value, 1);
}
static inline void hs_row__u16(struct hs_buffer *to, uint16_t value)
{
    hs_buffer__put_fixed(to, value, 2);
}
static inline void hs_row__u32(struct hs_buffer *to, uint32_t value)
{
    hs_buffer__put_fixed(to, value, 4);
}
static inline void hs_row__u64(struct hs_buffer *to, uint64_t value)
{
    hs_buffer__put_fixed(to, value, 8);
}
static inline void hs_row__array(struct hs_buffer *to, size_t count)
{
    hs_buffer__put_number(to, count);
}
static inline void hs_row__text(struct hs_buffer *to, const char *text, size_t length)
{
    hs_buffer__put_number(to, length);
    hs_buffer__put(to, text, length);
}

#endif
