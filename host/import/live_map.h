// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The live blocks: maps (address, space) to what is needed when a block ends. Open addressing with linear probing and
// backward-shift deletion, so that it stays as small as the live set, however long the trace is.
#ifndef HEAPSONDE_IMPORT_LIVE_MAP_H
#define HEAPSONDE_IMPORT_LIVE_MAP_H

#include "host/base/check.h"

#include <stdbool.h>
#include <stdint.h>

// Four fit into a cache line: other data of a block is stored with its row.
struct hs_live_entry {
    uint64_t address;
    uint32_t row_plus_1; // 0: empty
    uint32_t tag;        // heap: link + 1, or 0; other spaces: the space
};

// Spaces: the heap, and others, which have this bit set.
#define HS_LIVE_HEAP  0u
#define HS_LIVE_OTHER 0x80000000u

static inline uint32_t hs_live_entry__space(const struct hs_live_entry *entry)
{
    return entry->tag & HS_LIVE_OTHER ? entry->tag : HS_LIVE_HEAP;
}

struct hs_live_map {
    struct hs_live_entry *entry;
    uint64_t mask;
    uint64_t count;
    uint64_t seed; // random, so that no pattern of addresses makes it slow
};

int hs_live_map__create(struct hs_live_map *map);
void hs_live_map__free(struct hs_live_map *map);
int hs_live_map__grow(struct hs_live_map *map);

// Blocks that are adjacent in memory are adjacent here: programs reuse what they freed last, so few cache lines stay
// hot.
static inline uint64_t hs_live_map__slot(const struct hs_live_map *map, uint64_t address, uint32_t space)
{
    uint64_t hash = (address >> 9 ^ map->seed ^ (uint64_t)space << 32) * 0x9e3779b97f4a7c15u;
    return ((hash ^ hash >> 32) + (address >> 4 & 31)) & map->mask;
}

// `at` is from hs_live_map__slot, and the map has not grown since.
static inline struct hs_live_entry *hs_live_map__find_from(const struct hs_live_map *map, uint64_t at, uint64_t address,
                                                           uint32_t space)
{
    for (;; at = (at + 1) & map->mask) {
        struct hs_live_entry *entry = &map->entry[at];
        if (!entry->row_plus_1 || (entry->address == address && hs_live_entry__space(entry) == space))
            return entry;
    }
}

static inline struct hs_live_entry *hs_live_map__find(const struct hs_live_map *map, uint64_t address, uint32_t space)
{
    return hs_live_map__find_from(map, hs_live_map__slot(map, address, space), address, space);
}

// Fills the empty entry that `find` returned. The caller grows the map if hs_live_map__is_full.
static inline void hs_live_map__fill(struct hs_live_map *map, struct hs_live_entry *entry,
                                     const struct hs_live_entry *block)
{
    HS_CHECK_SLOW(!entry->row_plus_1 && block->row_plus_1 && map->count < map->mask);
    *entry = *block;
    map->count++;
}

// At most a quarter is used, because every probe after the first is a branch that the processor mispredicts. A large
// map is used up to a half: there memory counts, and it does not fit into the caches anyway.
#define HS_LIVE_LARGE ((uint64_t)1 << 24) // slots

static inline bool hs_live_map__has_room(const struct hs_live_map *map, uint64_t more)
{
    return (map->count + more) * (map->mask < HS_LIVE_LARGE ? 4 : 2) <= map->mask;
}

static inline bool hs_live_map__is_full(const struct hs_live_map *map)
{
    return !hs_live_map__has_room(map, 0);
}

static inline void hs_live_map__remove(struct hs_live_map *map, struct hs_live_entry *entry)
{
    uint64_t hole = (uint64_t)(entry - map->entry), at = hole;
    HS_CHECK_SLOW(hole <= map->mask && entry->row_plus_1 && map->count);
    for (;;) {
        at = (at + 1) & map->mask;
        const struct hs_live_entry *next = &map->entry[at];
        if (!next->row_plus_1)
            break;
        uint64_t home = hs_live_map__slot(map, next->address, hs_live_entry__space(next));
        // It may move if its home slot is not between the hole and its current slot.
        if (((at - home) & map->mask) >= ((at - hole) & map->mask)) {
            map->entry[hole] = *next;
            hole = at;
        }
    }
    map->entry[hole].row_plus_1 = 0;
    map->count--;
}

#endif
