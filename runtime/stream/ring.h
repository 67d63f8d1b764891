// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The bytes of a stream between the threads that seal chunks and the sender: a ring of a fixed size, in memory or in a
// mapped file. Offsets count from the first byte of the stream, modulo 2^32.
//
// Shared words:
//   head   the end of the newest byte; moved by producers, one at a time
//   tail   the oldest byte; moved only by the sender
// The release/acquire pair of `head` passes bytes on, that of `tail` passes room on.
#ifndef HEAPSONDE_RUNTIME_STREAM_RING_H
#define HEAPSONDE_RUNTIME_STREAM_RING_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct hs_stream_ring {
    uint8_t *memory;
    uint32_t size; // a power of two, at most 2^30
    _Atomic uint32_t head, tail;
};

static inline uint32_t hs_stream_ring__head(const struct hs_stream_ring *ring)
{
    return atomic_load_explicit(&ring->head, memory_order_acquire);
}

static inline uint32_t hs_stream_ring__tail(const struct hs_stream_ring *ring)
{
    return atomic_load_explicit(&ring->tail, memory_order_acquire);
}

static inline uint32_t hs_stream_ring__room(const struct hs_stream_ring *ring)
{
    return ring->size - (hs_stream_ring__head(ring) - hs_stream_ring__tail(ring));
}

// Adds bytes for which there is room. They become visible with hs_stream_ring__publish().
void hs_stream_ring__put(struct hs_stream_ring *ring, uint32_t at, const void *data, uint32_t length);
void hs_stream_ring__publish(struct hs_stream_ring *ring, uint32_t head);

// The contiguous bytes from `at` on. Returns their number; 0: none.
uint32_t hs_stream_ring__peek(const struct hs_stream_ring *ring, uint32_t at, const uint8_t **data);

void hs_stream_ring__release(struct hs_stream_ring *ring, uint32_t tail);

#endif
