// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The kernel stores `head` after the records before it, and overwrites what lies before `tail`: an acquire load of the
// one and a release store of the other. Only the low half of a position is exchanged on machines of 32 bits without
// atomics of 64; rings are far smaller than that.
#include "runtime/perf/ring.h"

#include <linux/perf_event.h>

typedef uintptr_t __attribute__((may_alias)) position;

#if __SIZEOF_POINTER__ == 8 || __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
enum { LOW_HALF = 0 };
#else
enum { LOW_HALF = 1 };
#endif

static uintptr_t load(const uint64_t *word)
{
    return __atomic_load_n((const position *)word + LOW_HALF, __ATOMIC_ACQUIRE);
}

static void store(uint64_t *word, uintptr_t value)
{
    __atomic_store_n((position *)word + LOW_HALF, value, __ATOMIC_RELEASE);
}

uint64_t hs_kernel_ring__unread(struct hs_kernel_ring *ring)
{
    return (uintptr_t)(load(ring->head) - load(ring->tail));
}

static void copy(const struct hs_kernel_ring *ring, uintptr_t at, void *to, size_t length)
{
    size_t from = at & (ring->size - 1), first = ring->size - from;
    first = first < length ? first : length;
    __builtin_memcpy(to, ring->data + from, first);
    __builtin_memcpy((uint8_t *)to + first, ring->data, length - first);
}

static size_t give_up(struct hs_kernel_ring *ring, uintptr_t head)
{
    ring->damaged++;
    store(ring->tail, head);
    return 0;
}

size_t hs_kernel_ring__next(struct hs_kernel_ring *ring, void *record)
{
    struct perf_event_header header;
    uintptr_t head = load(ring->head), tail = load(ring->tail), unread = head - tail;
    if (unread == 0)
        return 0;
    if (unread > ring->size || unread < sizeof header)
        return give_up(ring, head);
    copy(ring, tail, &header, sizeof header);
    if (header.size < sizeof header || header.size > unread || header.size % 8)
        return give_up(ring, head);
    copy(ring, tail, record, header.size);
    // Uses the checked copy, because the ring may change meanwhile.
    __builtin_memcpy(record, &header, sizeof header);
    store(ring->tail, tail + header.size);
    return header.size;
}
