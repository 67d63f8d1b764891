// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/import/live_map.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#define FIRST_SLOTS 65536

int hs_live_map__create(struct hs_live_map *map)
{
    *map = (struct hs_live_map){.mask = FIRST_SLOTS - 1};
    if (getrandom(&map->seed, sizeof map->seed, GRND_NONBLOCK) < 0)
        map->seed = (uintptr_t)map;
    map->entry = calloc(FIRST_SLOTS, sizeof *map->entry);
    return map->entry ? 0 : -ENOMEM;
}

void hs_live_map__free(struct hs_live_map *map)
{
    free(map->entry);
    map->entry = NULL;
}

int hs_live_map__grow(struct hs_live_map *map)
{
    struct hs_live_map bigger = {.mask = 2 * map->mask + 1, .seed = map->seed};
    bigger.entry = calloc(bigger.mask + 1, sizeof *bigger.entry);
    if (!bigger.entry)
        return -ENOMEM;
    for (uint64_t i = 0; i <= map->mask; i++) {
        const struct hs_live_entry *entry = &map->entry[i];
        if (entry->row_plus_1)
            hs_live_map__fill(&bigger, hs_live_map__find(&bigger, entry->address, entry->space), entry->address,
                              entry->space, entry->row_plus_1 - 1);
    }
    free(map->entry);
    *map = bigger;
    return 0;
}
