// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The part of protobuf's wire format that profile.proto needs.
#ifndef HEAPSONDE_HOST_DUMP_PROTOBUF_H
#define HEAPSONDE_HOST_DUMP_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hs_wire { HS_WIRE_NUMBER = 0, HS_WIRE_FIXED64 = 1, HS_WIRE_BYTES = 2, HS_WIRE_FIXED32 = 5 };

struct hs_proto {
    const uint8_t *at, *end;
};

struct hs_field {
    uint32_t number;
    enum hs_wire wire;
    uint64_t value;        // of the numbers
    struct hs_proto bytes; // HS_WIRE_BYTES
};

// False at the end, and when the number is cut off or longer than 64 bits.
static inline bool hs_proto__number(struct hs_proto *proto, uint64_t *number)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70 && proto->at < proto->end; shift += 7) {
        uint8_t byte = *proto->at++;
        value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
        if (!(byte & 0x80)) {
            *number = value;
            return true;
        }
    }
    return false;
}

static inline bool hs_proto__fixed(struct hs_proto *proto, unsigned bytes, uint64_t *number)
{
    if ((size_t)(proto->end - proto->at) < bytes)
        return false;
    *number = 0;
    for (unsigned i = 0; i < bytes; i++)
        *number |= (uint64_t)*proto->at++ << 8 * i;
    return true;
}

// The next field. False at the end and where the bytes make no sense; then `at` is not `end`.
static inline bool hs_proto__field(struct hs_proto *proto, struct hs_field *field)
{
    struct hs_proto next = *proto;
    uint64_t key;
    if (next.at >= next.end || !hs_proto__number(&next, &key) || !(key >> 3) || key >> 32)
        return false;
    *field = (struct hs_field){.number = (uint32_t)(key >> 3), .wire = (enum hs_wire)(key & 7)};
    uint64_t length = 0;
    switch (key & 7) {
    case HS_WIRE_NUMBER:
        if (!hs_proto__number(&next, &field->value))
            return false;
        break;
    case HS_WIRE_FIXED64:
    case HS_WIRE_FIXED32:
        if (!hs_proto__fixed(&next, (key & 7) == HS_WIRE_FIXED64 ? 8 : 4, &field->value))
            return false;
        break;
    case HS_WIRE_BYTES:
        if (!hs_proto__number(&next, &length) || length > (uint64_t)(next.end - next.at))
            return false;
        field->bytes = (struct hs_proto){next.at, next.at + length};
        next.at += length;
        break;
    default:
        return false;
    }
    *proto = next;
    return true;
}

#endif
