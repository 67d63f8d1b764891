// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/symbols/places.h"

#include "host/store/store.h"

#include <errno.h>
#include <stdlib.h>

enum { FIRST_SLOTS = 1 << (HS_PLACES_FIRST_BITS + 1) };

// Numbers of places by address. A reader of an outgrown table misses what was added since.
struct hs_places_table {
    struct hs_places_table *outgrown;
    size_t slots; // a power of two
    uint32_t number[];
};

static struct hs_places_table *new_table(size_t slots)
{
    struct hs_places_table *table = calloc(1, sizeof(*table) + slots * sizeof(table->number[0]));
    if (table)
        table->slots = slots;
    return table;
}

int hs_places__init(struct hs_places *places)
{
    *places = (struct hs_places){.table = new_table(FIRST_SLOTS)};
    return places->table ? 0 : -ENOMEM;
}

void hs_places__free(struct hs_places *places)
{
    for (struct hs_places_table *table = places->table, *outgrown; table; table = outgrown) {
        outgrown = table->outgrown;
        free(table);
    }
    for (size_t i = 0; i < HS_PLACES_RUNS; i++)
        free(places->run[i]);
    *places = (struct hs_places){0};
}

static size_t slot_of(const struct hs_places_table *table, uint64_t pc)
{
    return (size_t)((pc * 0x9e3779b97f4a7c15u) >> 32) & (table->slots - 1);
}

uint32_t hs_places__find(const struct hs_places *places, uint64_t pc, uint64_t time)
{
    const struct hs_places_table *table = __atomic_load_n(&places->table, __ATOMIC_ACQUIRE);
    uint32_t number;
    for (size_t i = slot_of(table, pc); (number = __atomic_load_n(&table->number[i], __ATOMIC_ACQUIRE));
         i = (i + 1) & (table->slots - 1)) {
        const struct hs_place *place = hs_places__at(places, number);
        if (place->pc == pc && place->from <= time && (time < place->until || place->until == HS_NEVER))
            return number;
    }
    return 0;
}

static void list(const struct hs_places *places, struct hs_places_table *table, uint32_t number)
{
    size_t i = slot_of(table, hs_places__at(places, number)->pc);
    while (table->number[i])
        i = (i + 1) & (table->slots - 1);
    __atomic_store_n(&table->number[i], number, __ATOMIC_RELEASE);
}

static bool grow_table(struct hs_places *places)
{
    struct hs_places_table *old = places->table;
    if (places->listed * 2 < old->slots)
        return true;
    struct hs_places_table *table = new_table(old->slots * 2);
    if (!table)
        return false;
    for (size_t i = 0; i < old->slots; i++)
        if (old->number[i])
            list(places, table, old->number[i]);
    table->outgrown = old;
    __atomic_store_n(&places->table, table, __ATOMIC_RELEASE);
    return true;
}

uint32_t hs_places__add(struct hs_places *places, const struct hs_place *place, bool listed)
{
    const uint32_t number = places->count + 1;
    const unsigned run = hs_places__run_of(number);
    if (run >= HS_PLACES_RUNS)
        return 0;
    if (!places->run[run])
        places->run[run] = calloc((size_t)1 << (run + HS_PLACES_FIRST_BITS), sizeof(*place));
    if (!places->run[run] || (listed && !grow_table(places)))
        return 0;
    *hs_places__at(places, number) = *place;
    places->count = number;
    if (listed) {
        list(places, places->table, number);
        places->listed++;
    }
    return number;
}
