// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/aggregate/blocks.h"

#include "runtime/config.h"
#include "runtime/memory.h"

enum { FIRST_BITS = 12 };

// Open addressing; a removal closes the gap, so that there are no tombstones.
static struct {
    struct hs_aggregate_block *table;
    uint32_t bits, count;
} blocks;

size_t hs_blocks_elsewhere;

static uint32_t home_of(uintptr_t address)
{
    return (uint32_t)(address * 0x9e3779b97f4a7c15ull >> (64 - blocks.bits));
}

static uint32_t mask(void)
{
    return (1u << blocks.bits) - 1;
}

static bool is_same(const struct hs_aggregate_block *block, const struct hs_aggregate_block *wanted)
{
    return block->address == wanted->address && !((block->stack ^ wanted->stack) & HS_BLOCK_OF_POOL) &&
           (!(wanted->stack & HS_BLOCK_OF_POOL) || block->other == wanted->other);
}

static struct hs_aggregate_block *place_of(const struct hs_aggregate_block *wanted)
{
    uint32_t place = home_of(wanted->address);
    while (blocks.table[place].address && !is_same(&blocks.table[place], wanted))
        place = (place + 1) & mask();
    return &blocks.table[place];
}

size_t hs_blocks__memory(void)
{
    return blocks.table ? sizeof *blocks.table << blocks.bits : 0;
}

static bool grow(void)
{
    struct hs_aggregate_block *old = blocks.table;
    size_t size = hs_blocks__memory();
    uint32_t bits = old ? blocks.bits + 1 : FIRST_BITS;
    if ((sizeof *old << bits) + hs_blocks_elsewhere > hs_config.aggregate_memory)
        return false;
    struct hs_aggregate_block *table = hs_memory__map(sizeof *table << bits);
    if (!table)
        return false;
    blocks.table = table;
    blocks.bits = bits;
    for (size_t i = 0; i < size / sizeof *old; i++)
        if (old[i].address)
            *place_of(&old[i]) = old[i];
    if (old)
        hs_memory__unmap(old, size);
    return true;
}

struct hs_aggregate_block *hs_blocks__find(const struct hs_aggregate_block *wanted)
{
    if (!blocks.table && !grow())
        return NULL;
    struct hs_aggregate_block *block = place_of(wanted);
    uint32_t limit = mask() / 4 * 3;
    if (block->address || blocks.count < limit)
        return block;
    return grow() ? place_of(wanted) : NULL;
}

void hs_blocks__fill(struct hs_aggregate_block *place, const struct hs_aggregate_block *block)
{
    blocks.count += place->address == 0;
    *place = *block;
}

bool hs_blocks__are_crowded(void)
{
    return blocks.count >= mask() / 2;
}

void hs_blocks__take_out(struct hs_aggregate_block *place_of_gap)
{
    uint32_t gap = (uint32_t)(place_of_gap - blocks.table);
    for (uint32_t place = (gap + 1) & mask(); blocks.table[place].address; place = (place + 1) & mask()) {
        uint32_t home = home_of(blocks.table[place].address);
        // An entry stays if its home is behind the gap.
        if (((place - home) & mask()) < ((place - gap) & mask()))
            continue;
        blocks.table[gap] = blocks.table[place];
        gap = place;
    }
    blocks.table[gap] = (struct hs_aggregate_block){0};
    blocks.count--;
}

void hs_blocks__sweep(uint64_t time)
{
    for (uint32_t i = 0; blocks.table && i <= mask();) {
        struct hs_aggregate_block *block = &blocks.table[i];
        if (block->address && hs_aggregate_block__is_over(block) && block->time < time)
            hs_blocks__take_out(block);
        else
            i++;
    }
}

void hs_blocks__reset(void)
{
    if (blocks.table)
        hs_memory__unmap(blocks.table, hs_blocks__memory());
    blocks.table = NULL;
    blocks.bits = blocks.count = 0;
}
