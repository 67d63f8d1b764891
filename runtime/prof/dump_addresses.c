// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/prof/dump_addresses.h"

#include "runtime/memory.h"

#include <stddef.h>

enum { SLOTS_FIRST = 4096 };

static uint32_t slot_of(const struct hs_dump_addresses *addresses, uint64_t address)
{
    uint32_t at = (uint32_t)(address ^ address >> 15) * 0x9e3779b1u;
    at = (at ^ at >> 16) & addresses->mask;
    while (addresses->slots[at].address && addresses->slots[at].address != address)
        at = (at + 1) & addresses->mask;
    return at;
}

static bool grow(struct hs_dump_addresses *addresses)
{
    uint32_t slots = addresses->slots ? 2 * (addresses->mask + 1) : SLOTS_FIRST;
    struct hs_dump_addresses larger = {slots ? hs_memory__map((size_t)slots * sizeof *larger.slots) : NULL, slots - 1,
                                       addresses->count};
    if (!larger.slots)
        return false;
    for (uint32_t i = 0; addresses->slots && i <= addresses->mask; i++)
        if (addresses->slots[i].address)
            larger.slots[slot_of(&larger, addresses->slots[i].address)] = addresses->slots[i];
    hs_dump_addresses__free(addresses);
    *addresses = larger;
    return true;
}

uint32_t hs_dump_addresses__number(struct hs_dump_addresses *addresses, uint64_t address, bool *is_new)
{
    *is_new = false;
    if (!address || ((!addresses->slots || addresses->count >= addresses->mask / 4 * 3) && !grow(addresses)))
        return 0;
    struct hs_dump_address *slot = &addresses->slots[slot_of(addresses, address)];
    if (!slot->address) {
        *slot = (struct hs_dump_address){address, ++addresses->count};
        *is_new = true;
    }
    return slot->number;
}

void hs_dump_addresses__free(struct hs_dump_addresses *addresses)
{
    if (addresses->slots)
        hs_memory__unmap(addresses->slots, (size_t)(addresses->mask + 1) * sizeof *addresses->slots);
    *addresses = (struct hs_dump_addresses){0};
}

static void sink(struct hs_dump_address *heap, uint32_t at, uint32_t count)
{
    struct hs_dump_address moved = heap[at];
    for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && heap[child + 1].address > heap[child].address)
            child++;
        if (heap[child].address <= moved.address)
            break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

void hs_dump_addresses__sort(struct hs_dump_addresses *addresses)
{
    uint32_t count = 0;
    struct hs_dump_address *heap = addresses->slots;
    for (uint32_t i = 0; heap && i <= addresses->mask; i++)
        if (heap[i].address)
            heap[count++] = heap[i];
    for (uint32_t i = count / 2; i-- > 0;)
        sink(heap, i, count);
    for (uint32_t i = count; i-- > 1;) {
        struct hs_dump_address last = heap[i];
        heap[i] = heap[0];
        heap[0] = last;
        sink(heap, 0, i);
    }
}
