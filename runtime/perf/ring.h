// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The reader's half of a ring that perf_event_open(2) fills. Nothing in it is believed: positions that the ring cannot
// have, and records that do not fit, cost what is unread, and are counted.
#ifndef HEAPSONDE_RUNTIME_PERF_RING_H
#define HEAPSONDE_RUNTIME_PERF_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HS_RING_RECORD_MAX = 1 << 16 };

struct hs_kernel_ring {
    uint64_t *head;      // the kernel's: end of what it has written
    uint64_t *tail;      // ours: end of what was read
    const uint8_t *data; // size bytes, a power of two
    uint64_t size;
    uint64_t damaged; // times that what was unread had to be given up
};

// Bytes that are unread.
uint64_t hs_kernel_ring__unread(struct hs_kernel_ring *ring);

// Copies the next record, its header included, into `record` (HS_RING_RECORD_MAX bytes, aligned to 8) and returns its
// length; 0: there is none.
size_t hs_kernel_ring__next(struct hs_kernel_ring *ring, void *record);

#endif
