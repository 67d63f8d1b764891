// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/stream/ring.h"

static uint32_t together(const struct hs_stream_ring *ring, uint32_t at, uint32_t length)
{
    uint32_t to_end = ring->size - (at & (ring->size - 1));
    return length < to_end ? length : to_end;
}

void hs_stream_ring__put(struct hs_stream_ring *ring, uint32_t at, const void *data, uint32_t length)
{
    uint32_t first = together(ring, at, length);
    __builtin_memcpy(ring->memory + (at & (ring->size - 1)), data, first);
    __builtin_memcpy(ring->memory, (const uint8_t *)data + first, length - first);
}

void hs_stream_ring__publish(struct hs_stream_ring *ring, uint32_t head)
{
    atomic_store_explicit(&ring->head, head, memory_order_release);
}

uint32_t hs_stream_ring__peek(const struct hs_stream_ring *ring, uint32_t at, const uint8_t **data)
{
    *data = ring->memory + (at & (ring->size - 1));
    return together(ring, at, hs_stream_ring__head(ring) - at);
}

void hs_stream_ring__release(struct hs_stream_ring *ring, uint32_t tail)
{
    atomic_store_explicit(&ring->tail, tail, memory_order_release);
}
