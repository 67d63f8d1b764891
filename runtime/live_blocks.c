// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/live_blocks.h"

#include "runtime/memory.h"

#include <stddef.h>

// Open addressing; a removal closes the gap, so that there are no tombstones. Address 0 is empty.
enum { CAPACITY_BITS = 20, CAPACITY = 1 << CAPACITY_BITS, FULL = CAPACITY / 8 * 7 };

static struct {
    struct hs_live_block *table;
    uint32_t count;
} blocks;

static uint32_t home_of(uint64_t address)
{
    return (uint32_t)(address * 0x9e3779b97f4a7c15ull >> (64 - CAPACITY_BITS));
}

static struct hs_live_block *find(uint64_t address)
{
    uint32_t place = home_of(address);
    while (blocks.table[place].address && blocks.table[place].address != address)
        place = (place + 1) % CAPACITY;
    return &blocks.table[place];
}

bool hs_live_blocks__insert(uint64_t address, uint64_t time, uint32_t holder, uint32_t word)
{
    if (!blocks.table)
        blocks.table = hs_memory__map(CAPACITY * sizeof *blocks.table);
    struct hs_live_block *entry = blocks.table ? find(address) : NULL;
    if (!entry || (!entry->address && blocks.count >= FULL))
        return false;
    if (entry->address && entry->time > time)
        return true;
    blocks.count += entry->address == 0;
    *entry = (struct hs_live_block){address, time, holder, word};
    return true;
}

static void take_out(struct hs_live_block *entry)
{
    uint32_t gap = (uint32_t)(entry - blocks.table);
    for (uint32_t place = (gap + 1) % CAPACITY; blocks.table[place].address; place = (place + 1) % CAPACITY) {
        uint32_t home = home_of(blocks.table[place].address);
        // Stays when its home lies behind the gap on the way to its place.
        if ((place - home) % CAPACITY < (place - gap) % CAPACITY)
            continue;
        blocks.table[gap] = blocks.table[place];
        gap = place;
    }
    blocks.table[gap] = (struct hs_live_block){0};
    blocks.count--;
}

bool hs_live_blocks__remove(uint64_t address, uint64_t time, struct hs_live_block *block)
{
    struct hs_live_block *entry = blocks.table ? find(address) : NULL;
    if (!entry || !entry->address || entry->time > time)
        return false;
    *block = *entry;
    take_out(entry);
    return true;
}

void hs_live_blocks__forget(uint64_t address, uint32_t holder, uint32_t word)
{
    struct hs_live_block *entry = blocks.table ? find(address) : NULL;
    if (entry && entry->address && entry->holder == holder && entry->word == word)
        take_out(entry);
}

uint32_t hs_live_blocks__count(void)
{
    return blocks.count;
}

void hs_live_blocks__reset(void)
{
    if (blocks.table)
        hs_memory__unmap(blocks.table, CAPACITY * sizeof *blocks.table);
    blocks.table = NULL;
    blocks.count = 0;
}
