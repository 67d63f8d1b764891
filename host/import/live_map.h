// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The live blocks: from (address, space) to row. Open addressing with linear probing and deletion by shifting back, so
// that a trace of any length keeps it as small as the live set.
#ifndef HEAPSONDE_IMPORT_LIVE_MAP_H
#define HEAPSONDE_IMPORT_LIVE_MAP_H

#include <stdbool.h>
#include <stdint.h>

struct hs_live_entry {
    uint64_t address;
    uint32_t space;      // 0: heap, else pool index + 1
    uint32_t row_plus_1; // 0: empty
};

struct hs_live_map {
    struct hs_live_entry *entry;
    uint64_t mask;
    uint64_t count;
    uint64_t seed; // an address pattern must not make it slow
};

int hs_live_map__create(struct hs_live_map *map);
void hs_live_map__free(struct hs_live_map *map);
int hs_live_map__grow(struct hs_live_map *map);

static inline uint64_t hs_live_map__slot(const struct hs_live_map *map, uint64_t address, uint32_t space)
{
    uint64_t hash = (address ^ map->seed ^ (uint64_t)space << 48) * 0x9e3779b97f4a7c15u;
    return (hash ^ hash >> 32) & map->mask;
}

static inline void hs_live_map__prefetch(const struct hs_live_map *map, uint64_t address)
{
    __builtin_prefetch(&map->entry[hs_live_map__slot(map, address, 0)]);
}

static inline struct hs_live_entry *hs_live_map__find(const struct hs_live_map *map, uint64_t address, uint32_t space)
{
    uint64_t at = hs_live_map__slot(map, address, space);
    for (;; at = (at + 1) & map->mask) {
        struct hs_live_entry *entry = &map->entry[at];
        if (!entry->row_plus_1 || (entry->address == address && entry->space == space))
            return entry;
    }
}

// Fills the empty entry that find returned. The caller grows the map when hs_live_map__is_full.
static inline void hs_live_map__fill(struct hs_live_map *map, struct hs_live_entry *entry, uint64_t address,
                                     uint32_t space, uint32_t row)
{
    *entry = (struct hs_live_entry){address, space, row + 1};
    map->count++;
}

static inline bool hs_live_map__is_full(const struct hs_live_map *map)
{
    return map->count * 8 > map->mask * 5;
}

static inline void hs_live_map__remove(struct hs_live_map *map, struct hs_live_entry *entry)
{
    uint64_t hole = (uint64_t)(entry - map->entry), at = hole;
    for (;;) {
        at = (at + 1) & map->mask;
        const struct hs_live_entry *next = &map->entry[at];
        if (!next->row_plus_1)
            break;
        uint64_t home = hs_live_map__slot(map, next->address, next->space);
        // It may move when its home is not between the hole and where it stands.
        if (((at - home) & map->mask) >= ((at - hole) & map->mask)) {
            map->entry[hole] = *next;
            hole = at;
        }
    }
    map->entry[hole].row_plus_1 = 0;
    map->count--;
}

#endif
