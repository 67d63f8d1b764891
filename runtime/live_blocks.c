// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/live_blocks.h"

#include "runtime/config.h"
#include "runtime/memory.h"

#include <stddef.h>

// Open addressing; a removal closes the gap, so that there are no tombstones. Address 0 is empty.
enum { FIRST_BITS = 10 };

static struct {
    struct hs_live_block *table;
    uint32_t bits, count;
} blocks;

static uint32_t mask(void)
{
    return (1u << blocks.bits) - 1;
}

static size_t table_size(uint32_t bits)
{
    return sizeof *blocks.table << bits;
}

static uint32_t home_of(uint64_t address)
{
    return (uint32_t)(address * 0x9e3779b97f4a7c15ull >> (64 - blocks.bits));
}

static struct hs_live_block *find(uint64_t address)
{
    uint32_t place = home_of(address);
    while (blocks.table[place].address && blocks.table[place].address != address)
        place = (place + 1) & mask();
    return &blocks.table[place];
}

static bool grow(void)
{
    struct hs_live_block *old = blocks.table, *end = old ? old + mask() + 1 : old;
    uint32_t bits = old ? blocks.bits + 1 : FIRST_BITS;
    struct hs_live_block *table = table_size(bits) <= hs_config.memory / 2 ? hs_memory__map(table_size(bits)) : NULL;
    if (!table)
        return false;
    blocks.table = table;
    blocks.bits = bits;
    for (const struct hs_live_block *entry = old; entry < end; entry++)
        if (entry->address)
            *find(entry->address) = *entry;
    if (old)
        hs_memory__unmap(old, table_size(bits - 1));
    return true;
}

// At most seven eighths are used.
static bool has_room(void)
{
    return (blocks.table && blocks.count < (mask() + 1) / 8 * 7) || grow();
}

bool hs_live_blocks__insert(uint64_t address, uint64_t time, uint32_t holder, uint32_t word)
{
    struct hs_live_block *entry = blocks.table ? find(address) : NULL;
    if (!entry || !entry->address) {
        if (!has_room())
            return false;
        entry = find(address);
    }
    if (entry->address && entry->time > time)
        return true;
    blocks.count += entry->address == 0;
    *entry = (struct hs_live_block){address, time, holder, word};
    return true;
}

static void take_out(struct hs_live_block *entry)
{
    uint32_t gap = (uint32_t)(entry - blocks.table);
    for (uint32_t place = (gap + 1) & mask(); blocks.table[place].address; place = (place + 1) & mask()) {
        uint32_t home = home_of(blocks.table[place].address);
        // An entry stays if its home is behind the gap.
        if (((place - home) & mask()) < ((place - gap) & mask()))
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
        hs_memory__unmap(blocks.table, table_size(blocks.bits));
    blocks.table = NULL;
    blocks.count = 0;
}
