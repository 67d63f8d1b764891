// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/page_set.h"

#include "host/base/array.h"
#include "host/base/numbers.h"

#include <stdlib.h>
#include <string.h>

// More parts than programs have are a mistake of the trace: their pages are left out.
enum { PART_PAGES = 4096, WORDS = PART_PAGES / 64, MOST_PARTS = 1 << 18 };

struct hs_page_part {
    uint64_t key; // number of its first page / PART_PAGES
    uint64_t word[WORDS];
};

static struct hs_page_part *find(const struct hs_page_set *set, uint64_t key)
{
    uint32_t number = hs_id_map__find(&set->of_key, key);
    return number == UINT32_MAX ? NULL : &set->part[number];
}

static struct hs_page_part *find_or_add(struct hs_page_set *set, uint64_t key)
{
    struct hs_page_part *part = find(set, key);
    if (part)
        return part;
    if (!HS_ARRAY_HAS_ROOM(set->part, set->parts, set->room))
        return NULL;
    if (hs_id_map__set(&set->of_key, key, set->parts))
        return NULL;
    part = &set->part[set->parts++];
    *part = (struct hs_page_part){.key = key};
    return part;
}

// The bits of a word that are within [first, end), which are pages of the part.
static uint64_t mask_of(unsigned word, uint64_t first, uint64_t end)
{
    uint64_t low = (uint64_t)word * 64, high = low + 64;
    if (end <= low || first >= high)
        return 0;
    uint64_t mask = ~(uint64_t)0;
    if (first > low)
        mask &= ~(uint64_t)0 << (first - low);
    if (end < high)
        mask &= ~(uint64_t)0 >> (high - end);
    return mask;
}

static void add_to_part(struct hs_page_set *set, struct hs_page_part *part, uint64_t first, uint64_t end)
{
    for (unsigned i = (unsigned)(first / 64); i < WORDS && (uint64_t)i * 64 < end; i++) {
        uint64_t added = mask_of(i, first, end) & ~part->word[i];
        set->count += (unsigned)__builtin_popcountll(added);
        part->word[i] |= added;
    }
}

static void remove_from_part(struct hs_page_set *set, struct hs_page_part *part, uint64_t first, uint64_t end)
{
    uint64_t start = part->key * PART_PAGES;
    first = first > start ? first - start : 0;
    end = hs_number__least(end - start, PART_PAGES);
    for (unsigned i = (unsigned)(first / 64); i < WORDS && (uint64_t)i * 64 < end; i++) {
        uint64_t removed = mask_of(i, first, end) & part->word[i];
        set->count -= (unsigned)__builtin_popcountll(removed);
        part->word[i] &= ~removed;
    }
}

bool hs_page_set__add(struct hs_page_set *set, uint64_t first, uint64_t end)
{
    while (first < end) {
        uint64_t key = first / PART_PAGES, start = key * PART_PAGES;
        uint64_t part_end = hs_number__least(end - start, PART_PAGES);
        if (set->parts == MOST_PARTS && !find(set, key))
            return true;
        struct hs_page_part *part = find_or_add(set, key);
        if (!part)
            return false;
        add_to_part(set, part, first - start, part_end);
        first = start + part_end;
    }
    return true;
}

void hs_page_set__remove(struct hs_page_set *set, uint64_t first, uint64_t end)
{
    if (first >= end)
        return;
    uint64_t keys = (end - 1) / PART_PAGES - first / PART_PAGES + 1;
    if (keys > set->parts) {
        for (uint32_t i = 0; i < set->parts; i++) {
            uint64_t start = set->part[i].key * PART_PAGES;
            if (start < end && start + PART_PAGES > first)
                remove_from_part(set, &set->part[i], first, end);
        }
        return;
    }
    for (uint64_t key = first / PART_PAGES; keys--; key++) {
        struct hs_page_part *part = find(set, key);
        if (part)
            remove_from_part(set, part, first, end);
    }
}

static uint64_t count_in_part(const struct hs_page_part *part, uint64_t first, uint64_t end)
{
    uint64_t start = part->key * PART_PAGES, count = 0;
    first = first > start ? first - start : 0;
    end = hs_number__least(end - start, PART_PAGES);
    for (unsigned i = (unsigned)(first / 64); i < WORDS && (uint64_t)i * 64 < end; i++)
        count += (unsigned)__builtin_popcountll(mask_of(i, first, end) & part->word[i]);
    return count;
}

uint64_t hs_page_set__count(const struct hs_page_set *set, uint64_t first, uint64_t end)
{
    if (first >= end)
        return 0;
    uint64_t keys = (end - 1) / PART_PAGES - first / PART_PAGES + 1, count = 0;
    if (keys > set->parts) {
        for (uint32_t i = 0; i < set->parts; i++) {
            uint64_t start = set->part[i].key * PART_PAGES;
            if (start < end && start + PART_PAGES > first)
                count += count_in_part(&set->part[i], first, end);
        }
        return count;
    }
    for (uint64_t key = first / PART_PAGES; keys--; key++) {
        const struct hs_page_part *part = find(set, key);
        count += part ? count_in_part(part, first, end) : 0;
    }
    return count;
}

bool hs_page_set__has(const struct hs_page_set *set, uint64_t page)
{
    const struct hs_page_part *part = find(set, page / PART_PAGES);
    return part && part->word[page % PART_PAGES / 64] >> (page % 64) & 1;
}

// Calls hs_page_set__add with the members of `part` within [first, end), `distance` further on.
static bool add_moved(struct hs_page_set *to, const struct hs_page_part *part, uint64_t first, uint64_t end,
                      uint64_t distance)
{
    uint64_t start = part->key * PART_PAGES;
    for (uint64_t i = 0; i < PART_PAGES; i++) {
        uint64_t page = start + i;
        bool is_member = part->word[i / 64] >> (i % 64) & 1;
        if (is_member && page >= first && page < end && !hs_page_set__add(to, page + distance, page + distance + 1))
            return false;
    }
    return true;
}

static bool add_all_moved(struct hs_page_set *to, const struct hs_page_set *from, uint64_t first, uint64_t end,
                          uint64_t distance)
{
    bool good = true;
    for (uint32_t i = 0; good && i < from->parts; i++) {
        uint64_t start = from->part[i].key * PART_PAGES;
        if (start < end && start + PART_PAGES > first)
            good = add_moved(to, &from->part[i], first, end, distance);
    }
    return good;
}

bool hs_page_set__add_members(struct hs_page_set *set, const struct hs_page_set *from, uint64_t first, uint64_t end)
{
    return add_all_moved(set, from, first, end, 0);
}

bool hs_page_set__move(struct hs_page_set *set, uint64_t first, uint64_t end, uint64_t to)
{
    struct hs_page_set moved = {0};
    bool good = add_all_moved(&moved, set, first, end, to - first);
    hs_page_set__remove(set, first, end);
    hs_page_set__remove(set, to, to + (end - first));
    good = good && add_all_moved(set, &moved, 0, UINT64_MAX, 0);
    hs_page_set__free(&moved);
    return good;
}

void hs_page_set__free(struct hs_page_set *set)
{
    free(set->part);
    hs_id_map__free(&set->of_key);
    *set = (struct hs_page_set){0};
}
