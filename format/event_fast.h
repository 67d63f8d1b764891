// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The fast encoding of EVENTS payloads (docs/format.md, 6.5): bytes, one event after another. An event contains only
// the data that is not in small tables of addresses, allocations and stacks, with one entry for each hash. Encoder and
// decoder update the tables in the same way, so the common part is here.
#ifndef HEAPSONDE_FORMAT_EVENT_FAST_H
#define HEAPSONDE_FORMAT_EVENT_FAST_H

#include "format/event_codec.h"

#define HS_FAST_VERSION 2

// Before the events: version, 2 bytes number of events, 8 bytes base time.
#define HS_FAST_HEADER 11

// An event's head, 16 bits: what it is, more of the time or of the entry, where the address is found.
enum {
    HS_FAST_FREE = 0,   // without a stack
    HS_FAST_AGAIN = 1,  // what an entry of the table of allocations says; a byte of its number follows the address
    HS_FAST_DETAIL = 2, // a byte of details follows the address
    HS_FAST_WIDE = 3    // varint type + (words << 8), then the words as varints; no address
};
#define HS_FAST_MORE_POS    2
#define HS_FAST_ADDRESS_POS 5

// The time since the event before is a byte, more of it in the head, unless it is long: then it is a varint. AGAIN has
// the entry's high bits in their place, and one bit says whether the time is long.
#define HS_FAST_TIME_LONG  7u
#define HS_FAST_AGAIN_LONG 4u
#define HS_FAST_AGAIN_HIGH 3u

// Where an address is found: these, or an entry of the table.
enum { HS_FAST_NEAR = 0, HS_FAST_WHOLE = 1, HS_FAST_ENTRIES_FROM = 2 };
// 2 bytes of zigzag distance from the last address that was in no entry, or 8 bytes.

// A byte of details: kind of the record (enum hs_record), where the stack is found, bytes of the size.
#define HS_FAST_STACK_POS 4
enum { HS_FAST_STACK_ENTRY = 0, HS_FAST_STACK_NEAR = 1, HS_FAST_STACK_WHOLE = 2 }; // 1, 2, 4 bytes
#define HS_FAST_SIZE_POS 6                                                         // 0 to 3: 0, 1, 2, 4 bytes

#define HS_FAST_ADDRESSES   2048
#define HS_FAST_ALLOCATIONS 1024
#define HS_FAST_STACKS      256

// An allocation, or a free with its stack.
struct hs_fast_allocation {
    uint64_t usable;
    uint32_t stack, size;
    uint32_t kind; // enum hs_record
};

// All zero at the beginning of a payload.
struct hs_fast {
    uint64_t time;
    uint64_t last_address;
    uint32_t last_stack; // that was in no entry
    uint32_t stack[HS_FAST_STACKS];
    uint64_t address[HS_FAST_ADDRESSES];
    struct hs_fast_allocation allocation[HS_FAST_ALLOCATIONS];
};

static inline unsigned hs_fast_entry(uint64_t unit)
{
    unsigned entry = ((uint32_t)unit ^ (uint32_t)(unit >> 32) * 0x85ebca77u) * 0x9e3779b1u >> 21;
    return entry < HS_FAST_ENTRIES_FROM ? entry + HS_FAST_ADDRESSES / 2 : entry;
}

static inline unsigned hs_fast_stack_entry(uint32_t stack)
{
    return stack * 0x9e3779b1u >> 24;
}

static inline unsigned hs_fast_allocation_entry(uint32_t stack, uint32_t size)
{
    return (stack + size * 0x85ebca77u) * 0x9e3779b1u >> 22;
}

#endif
