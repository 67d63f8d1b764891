// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Maps ids of any size to small numbers.
#ifndef HEAPSONDE_BASE_ID_MAP_H
#define HEAPSONDE_BASE_ID_MAP_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct hs_id_slot {
    uint64_t id;
    uint32_t value; // + 1; 0: free
};

struct hs_id_map {
    struct hs_id_slot *slots;
    size_t slot_count; // a power of two
    size_t count;
};

static inline size_t hs_id_map__slot(const struct hs_id_map *map, uint64_t id)
{
    size_t i = (size_t)((id * 0x9e3779b97f4a7c15u) >> 20) & (map->slot_count - 1);
    while (map->slots[i].value && map->slots[i].id != id)
        i = (i + 1) & (map->slot_count - 1);
    return i;
}

// The value of an id, or UINT32_MAX if there is none.
static inline uint32_t hs_id_map__find(const struct hs_id_map *map, uint64_t id)
{
    return map->slot_count ? map->slots[hs_id_map__slot(map, id)].value - 1 : UINT32_MAX;
}

static inline int hs_id_map__grow(struct hs_id_map *map)
{
    struct hs_id_map bigger = {.slot_count = map->slot_count ? map->slot_count * 2 : 256, .count = map->count};
    bigger.slots = calloc(bigger.slot_count, sizeof(*bigger.slots));
    if (!bigger.slots)
        return -ENOMEM;
    for (size_t i = 0; i < map->slot_count; i++) {
        if (map->slots[i].value)
            bigger.slots[hs_id_map__slot(&bigger, map->slots[i].id)] = map->slots[i];
    }
    free(map->slots);
    *map = bigger;
    return 0;
}

// Sets the value of an id, below UINT32_MAX; an earlier value is replaced. Returns 0 or -ENOMEM.
static inline int hs_id_map__set(struct hs_id_map *map, uint64_t id, uint32_t value)
{
    if (map->count * 2 >= map->slot_count && hs_id_map__grow(map))
        return -ENOMEM;
    struct hs_id_slot *slot = &map->slots[hs_id_map__slot(map, id)];
    map->count += !slot->value;
    *slot = (struct hs_id_slot){id, value + 1};
    return 0;
}

// Entries after it, which are there because its place was taken, move up.
static inline void hs_id_map__remove(struct hs_id_map *map, uint64_t id)
{
    size_t hole = map->slot_count ? hs_id_map__slot(map, id) : 0;
    if (!map->slot_count || !map->slots[hole].value)
        return;
    map->count--;
    for (size_t i = (hole + 1) & (map->slot_count - 1); map->slots[i].value; i = (i + 1) & (map->slot_count - 1)) {
        size_t wanted = (size_t)((map->slots[i].id * 0x9e3779b97f4a7c15u) >> 20) & (map->slot_count - 1);
        if (((i - wanted) & (map->slot_count - 1)) < ((i - hole) & (map->slot_count - 1)))
            continue;
        map->slots[hole] = map->slots[i];
        hole = i;
    }
    map->slots[hole].value = 0;
}

static inline void hs_id_map__free(struct hs_id_map *map)
{
    free(map->slots);
    *map = (struct hs_id_map){0};
}

#endif
