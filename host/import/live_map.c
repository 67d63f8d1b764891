// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/import/live_map.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/random.h>

#define FIRST_SLOTS 65536

// Look-ups go all over the table: large pages spare most of the address translations.
static struct hs_live_entry *empty_entries(uint64_t slots)
{
    size_t bytes = slots * sizeof(struct hs_live_entry);
    void *entries = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (entries == MAP_FAILED)
        return NULL;
    madvise(entries, bytes, MADV_HUGEPAGE);
    return entries;
}

static void free_entries(struct hs_live_map *map)
{
    if (map->entry)
        munmap(map->entry, (map->mask + 1) * sizeof *map->entry);
    map->entry = NULL;
}

int hs_live_map__create(struct hs_live_map *map)
{
    *map = (struct hs_live_map){.mask = FIRST_SLOTS - 1};
    if (getrandom(&map->seed, sizeof map->seed, GRND_NONBLOCK) < 0)
        map->seed = (uintptr_t)map;
    map->entry = empty_entries(FIRST_SLOTS);
    return map->entry ? 0 : -ENOMEM;
}

void hs_live_map__free(struct hs_live_map *map)
{
    free_entries(map);
}

int hs_live_map__grow(struct hs_live_map *map)
{
    struct hs_live_map bigger = {.mask = 2 * map->mask + 1, .seed = map->seed};
    bigger.entry = empty_entries(bigger.mask + 1);
    if (!bigger.entry)
        return -ENOMEM;
    for (uint64_t i = 0; i <= map->mask; i++) {
        const struct hs_live_entry *entry = &map->entry[i];
        if (entry->row_plus_1)
            hs_live_map__fill(&bigger, hs_live_map__find(&bigger, entry->address, hs_live_entry__space(entry)), entry);
    }
    free_entries(map);
    *map = bigger;
    return 0;
}
