// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A decoded event: the contents of one record of a slot, with absolute times and full addresses.
#ifndef HEAPSONDE_FORMAT_EVENT_H
#define HEAPSONDE_FORMAT_EVENT_H

#include <stdint.h>

enum hs_event_kind {
    HS_EVENT_FREE = 1,
    HS_EVENT_MALLOC = 2,
    HS_EVENT_CALLOC = 3,
    HS_EVENT_ALIGNED = 4,
    HS_EVENT_REALLOC = 5,     // begin_time, old_address
    HS_EVENT_MMAP = 6,        // size, protection, map_flags, fd, offset, asked
    HS_EVENT_MUNMAP = 7,      // size
    HS_EVENT_MREMAP = 8,      // old_address, old_size -> address, size, map_flags
    HS_EVENT_BRK = 9,         // old_address -> address
    HS_EVENT_MALLOPT = 10,    // parameter, value, result
    HS_EVENT_POOL_ALLOC = 11, // pool
    HS_EVENT_POOL_FREE = 12,  // pool
    HS_EVENT_MARK = 13,       // value
    HS_EVENT_SAMPLE = 14,     // sampled, tid, size: weight, age, duration
    HS_EVENT_KINDS
};

// Recorded time counts from the start of the trace in ticks; docs/format.md says how ticks become nanoseconds.
struct hs_event {
    uint64_t time;
    uint64_t address;
    uint64_t size; // requested
    union {
        uint64_t usable;   // allocations
        uint64_t offset;   // MMAP
        uint64_t old_size; // MREMAP
    };
    union {
        uint64_t old_address; // REALLOC, MREMAP, BRK
        uint64_t pool;        // POOL_*
        uint64_t asked;       // MMAP
        uint64_t value;       // MARK
        uint64_t age;         // SAMPLE: ns
    };
    union {
        uint64_t begin_time; // REALLOC: when the call began
        struct {
            uint32_t protection; // MMAP
            uint32_t map_flags;  // MMAP, MREMAP
        };
        struct {
            int32_t parameter; // MALLOPT
            int32_t argument;
        };
        struct {
            uint32_t sampled; // SAMPLE: HS_SAMPLE_*
            uint32_t tid;
        };
    };
    uint32_t stack;
    union {
        int32_t fd;        // MMAP
        int32_t result;    // MALLOPT
        uint32_t duration; // SAMPLE: ns
    };
    uint8_t kind; // enum hs_event_kind
    uint8_t reserved[7];
};
_Static_assert(sizeof(struct hs_event) == 64, "one cache line");

#endif
