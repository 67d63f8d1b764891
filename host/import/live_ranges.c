// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/import/live_ranges.h"

#include "host/base/array.h"
#include "host/base/search.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define BLOCK 256

struct range_block {
    size_t count;
    struct hs_live_mapping at[BLOCK];
};

static bool ends_behind(const struct hs_live_mapping *mapping, uint64_t address)
{
    return mapping->end > address;
}

struct hs_range_place hs_live_ranges__behind(const struct hs_live_ranges *ranges, uint64_t address)
{
    struct hs_range_place place = {
        HS_SEARCH(ranges->blocks, i, !ends_behind(&ranges->block[i]->at[ranges->block[i]->count - 1], address)), 0};
    if (place.block == ranges->blocks)
        return place;
    const struct range_block *block = ranges->block[place.block];
    place.index = HS_SEARCH(block->count, i, !ends_behind(&block->at[i], address));
    return place;
}

struct hs_live_mapping *hs_live_ranges__at(const struct hs_live_ranges *ranges, struct hs_range_place place)
{
    return place.block < ranges->blocks ? &ranges->block[place.block]->at[place.index] : NULL;
}

struct hs_range_place hs_live_ranges__next(const struct hs_live_ranges *ranges, struct hs_range_place place)
{
    bool is_last = place.index + 1 == ranges->block[place.block]->count;
    return is_last ? (struct hs_range_place){place.block + 1, 0}
                   : (struct hs_range_place){place.block, place.index + 1};
}

// ---- adding --------------------------------------------------------------------------------------------------------

// An empty block at `index`, which the caller fills.
static struct range_block *add_block(struct hs_live_ranges *ranges, size_t index)
{
    if (!HS_ARRAY_HAS_ROOM(ranges->block, ranges->blocks, ranges->room))
        return NULL;
    struct range_block *block = malloc(sizeof *block);
    if (!block)
        return NULL;
    block->count = 0;
    memmove(&ranges->block[index + 1], &ranges->block[index], (ranges->blocks - index) * sizeof *ranges->block);
    ranges->block[index] = block;
    ranges->blocks++;
    return block;
}

// Splits a full block: the second half moves to a new block after it.
static int split(struct hs_live_ranges *ranges, struct hs_range_place *place)
{
    struct range_block *block = ranges->block[place->block], *half = add_block(ranges, place->block + 1);
    if (!half)
        return -ENOMEM;
    half->count = BLOCK / 2;
    block->count = BLOCK - half->count;
    memcpy(half->at, block->at + block->count, half->count * sizeof *half->at);
    if (place->index > block->count) {
        place->index -= block->count;
        place->block++;
    }
    return 0;
}

int hs_live_ranges__add(struct hs_live_ranges *ranges, const struct hs_live_mapping *added)
{
    struct hs_range_place place = hs_live_ranges__behind(ranges, added->start);
    if (place.block == ranges->blocks) { // behind all others
        bool full = !ranges->blocks || ranges->block[ranges->blocks - 1]->count == BLOCK;
        if (full && !add_block(ranges, ranges->blocks))
            return -ENOMEM;
        place.block = ranges->blocks - 1;
        place.index = ranges->block[place.block]->count;
    } else if (ranges->block[place.block]->count == BLOCK && split(ranges, &place)) {
        return -ENOMEM;
    }
    struct range_block *block = ranges->block[place.block];
    struct hs_live_mapping *at = block->at + place.index;
    memmove(at + 1, at, (block->count - place.index) * sizeof *at);
    *at = *added;
    block->count++;
    return 0;
}

int hs_live_ranges__restore(struct hs_live_ranges *ranges, const struct hs_live_mapping *mappings, size_t count)
{
    int failed = 0;
    hs_live_ranges__free(ranges);
    for (size_t i = 0; i < count && !failed; i++)
        failed = hs_live_ranges__add(ranges, &mappings[i]);
    return failed;
}

// ---- removing ------------------------------------------------------------------------------------------------------

// Returns whether it went through to the end of the block.
static bool remove_in(struct range_block *block, size_t first, uint64_t end)
{
    size_t last = first;
    while (last < block->count && block->at[last].start < end)
        last++;
    bool through = last == block->count;
    memmove(block->at + first, block->at + last, (block->count - last) * sizeof *block->at);
    block->count -= last - first;
    return through;
}

void hs_live_ranges__remove(struct hs_live_ranges *ranges, struct hs_range_place place, uint64_t end)
{
    size_t at = place.block, kept = place.block;
    bool goes_on = true;
    for (size_t first = place.index; goes_on && at < ranges->blocks; first = 0, at++) {
        struct range_block *block = ranges->block[at];
        goes_on = remove_in(block, first, end);
        if (block->count)
            ranges->block[kept++] = block;
        else
            free(block);
    }
    if (kept < at)
        memmove(&ranges->block[kept], &ranges->block[at], (ranges->blocks - at) * sizeof *ranges->block);
    ranges->blocks -= at - kept;
}

// ---- all of them ---------------------------------------------------------------------------------------------------

int hs_live_ranges__list(const struct hs_live_ranges *ranges, struct hs_array *list)
{
    for (size_t i = 0; i < ranges->blocks; i++)
        for (size_t k = 0; k < ranges->block[i]->count; k++) {
            struct hs_live_mapping *added = hs_array__add(list, sizeof *added);
            if (!added)
                return -ENOMEM;
            *added = ranges->block[i]->at[k];
        }
    return 0;
}

void hs_live_ranges__free(struct hs_live_ranges *ranges)
{
    for (size_t i = 0; i < ranges->blocks; i++)
        free(ranges->block[i]);
    free(ranges->block);
    *ranges = (struct hs_live_ranges){0};
}
