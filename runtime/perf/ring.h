// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The reader of a ring that perf_event_open(2) fills. It trusts nothing: for impossible positions and invalid records,
// the unread part is discarded and counted.
#ifndef HEAPSONDE_RUNTIME_PERF_RING_H
#define HEAPSONDE_RUNTIME_PERF_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HS_RING_RECORD_MAX = 1 << 16 };

struct hs_kernel_ring {
    uint64_t *head;      // written by the kernel: end of its data
    uint64_t *tail;      // written here: end of what was read
    const uint8_t *data; // size bytes, a power of two
    uint64_t size;
    uint64_t damaged; // number of times that the unread part was discarded
};

// Number of unread bytes.
uint64_t hs_kernel_ring__unread(struct hs_kernel_ring *ring);

// Copies the next record with its header to `record` (HS_RING_RECORD_MAX bytes, aligned to 8) and returns its length;
// 0: none.
size_t hs_kernel_ring__next(struct hs_kernel_ring *ring, void *record);

#endif
