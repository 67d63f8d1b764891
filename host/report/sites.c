// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/report/sites.h"

#include "host/base/array.h"
#include "host/report/frames.h"
#include "host/report/text.h"
#include "host/symbols/strings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEEPEST_STACK 65536u

// This many stacks go through each step together: what one step fetches from memory is there when the next needs it.
#define AT_ONCE 32u

struct looked_up {
    const struct hs_total *total;
    const struct hs_frame **frames;
    uint32_t count;
    uint32_t depth; // all frames, or more than were asked for
    uint64_t hash;
};

// The index of a site + 1 (0: none), below the upper half of its hash.
typedef uint64_t slot_word;

struct building {
    struct hs_sites *sites;
    struct hs_strings *memory;
    size_t capacity;
    slot_word *slots;
    size_t slot_count;
    const struct hs_frame **frames; // of the current stacks
    struct looked_up at_hand[AT_ONCE];
    uint32_t most, at_once;
    bool whole; // stacks, with their allocator's frames
};

static size_t site_in(slot_word slot)
{
    return (uint32_t)slot - 1;
}

static slot_word slot_for(size_t site, uint64_t hash)
{
    return (hash & ~(uint64_t)UINT32_MAX) | ((uint32_t)site + 1);
}

static bool same_half(slot_word slot, uint64_t hash)
{
    return slot >> 32 == hash >> 32;
}

static uint64_t hash_look(const struct looked_up *stack)
{
    uint64_t hash = stack->count;
    for (uint32_t i = 0; i < stack->count; i++) {
        const struct hs_frame *frame = stack->frames[i];
        hash = (hash ^ (hash >> 29) ^ (uintptr_t)hs_frame__identity(frame) ^ ((uint64_t)frame->line << 44)) *
               0x9e3779b97f4a7c15u;
    }
    return hash ^ (hash >> 32);
}

static bool is_site(const struct hs_site *site, const struct looked_up *stack)
{
    if (site->frame_count != stack->count)
        return false;
    for (uint32_t i = 0; i < stack->count; i++) {
        if (!hs_frame__looks_like(site->frames[i], stack->frames[i]))
            return false;
    }
    return true;
}

static int grow_sites(struct building *building)
{
    struct hs_sites *sites = building->sites;
    return HS_ARRAY_HAS_ROOM(sites->site, sites->count, building->capacity) ? 0 : -ENOMEM;
}

// Few sites stand for many stacks: the table follows the sites.
static int grow_slots(struct building *building)
{
    if (building->sites->count * 2 < building->slot_count)
        return 0;
    size_t count = building->slot_count * 2;
    slot_word *bigger = calloc(count, sizeof(*bigger));
    if (!bigger)
        return -ENOMEM;
    for (size_t i = 0; i < building->sites->count; i++) {
        const uint64_t hash = building->sites->site[i].hash;
        size_t slot = hash & (count - 1);
        while (bigger[slot])
            slot = (slot + 1) & (count - 1);
        bigger[slot] = slot_for(i, hash);
    }
    free(building->slots);
    building->slots = bigger;
    building->slot_count = count;
    return 0;
}

static int add_site(struct building *building, const struct looked_up *stack)
{
    if (grow_sites(building))
        return -ENOMEM;
    size_t size = stack->count * sizeof(*stack->frames);
    const struct hs_frame **frames = hs_strings__memory(building->memory, size + 1);
    if (!frames)
        return -ENOMEM;
    if (size)
        memcpy(frames, stack->frames, size);
    building->sites->site[building->sites->count++] =
        (struct hs_site){.frames = frames,
                         .frame_count = stack->count,
                         .hash = stack->hash,
                         .sum = {.stack = stack->total->stack, .lifetime_min = UINT64_MAX}};
    return 0;
}

// The slot of the site that looks so, or the free one where it belongs.
static slot_word *find_slot(struct building *building, const struct looked_up *stack)
{
    size_t slot = stack->hash & (building->slot_count - 1);
    for (; building->slots[slot]; slot = (slot + 1) & (building->slot_count - 1)) {
        slot_word word = building->slots[slot];
        if (same_half(word, stack->hash) && is_site(&building->sites->site[site_in(word)], stack))
            break;
    }
    return &building->slots[slot];
}

static int add_stack(struct building *building, const struct looked_up *stack)
{
    if (grow_slots(building))
        return -ENOMEM;
    slot_word *slot = find_slot(building, stack);
    if (!*slot) {
        if (add_site(building, stack))
            return -ENOMEM;
        *slot = slot_for(building->sites->count - 1, stack->hash);
    }
    struct hs_site *site = &building->sites->site[site_in(*slot)];
    hs_total__add(&site->sum, stack->total);
    site->stack_count++;
    site->more = site->more || stack->depth > stack->count;
    return 0;
}

static void look_up(struct building *building, struct hs_trace_symbols *symbols, const struct hs_totals *totals,
                    size_t first, uint32_t stacks)
{
    for (uint32_t i = 0; i < stacks; i++) {
        struct looked_up *stack = &building->at_hand[i];
        stack->total = &totals->total[first + i];
        stack->frames = building->frames + (size_t)i * (DEEPEST_STACK / AT_ONCE);
        stack->count = hs_frames__of_stack(symbols, stack->total->stack, !building->whole, stack->frames,
                                           building->most, &stack->depth);
        stack->hash = hash_look(stack);
        __builtin_prefetch(&building->slots[stack->hash & (building->slot_count - 1)]);
    }
}

static const struct hs_site *likely_site(const struct building *building, const struct looked_up *stack)
{
    slot_word slot = building->slots[stack->hash & (building->slot_count - 1)];
    return slot && same_half(slot, stack->hash) ? &building->sites->site[site_in(slot)] : NULL;
}

static void fetch_sites(const struct building *building, uint32_t stacks)
{
    for (uint32_t i = 0; i < stacks; i++) {
        const char *site = (const char *)likely_site(building, &building->at_hand[i]);
        for (size_t at = 0; site && at < sizeof(struct hs_site); at += 64)
            __builtin_prefetch(site + at, 1);
    }
    for (uint32_t i = 0; i < stacks; i++) {
        const struct hs_site *site = likely_site(building, &building->at_hand[i]);
        if (site)
            __builtin_prefetch(site->frames);
    }
}

static int add_stacks(struct building *building, struct hs_trace_symbols *symbols, const struct hs_totals *totals)
{
    int result = 0;
    for (size_t first = 0; !result && first < totals->count; first += building->at_once) {
        const size_t left = totals->count - first;
        const uint32_t stacks = left < building->at_once ? (uint32_t)left : building->at_once;
        look_up(building, symbols, totals, first, stacks);
        fetch_sites(building, stacks);
        for (uint32_t i = 0; !result && i < stacks; i++)
            result = add_stack(building, &building->at_hand[i]);
    }
    return result;
}

int hs_sites__build(struct hs_sites *sites, struct hs_trace_symbols *symbols, const struct hs_totals *totals,
                    uint32_t most)
{
    struct building building = {.sites = sites,
                                .most = most < DEEPEST_STACK ? most : DEEPEST_STACK,
                                .at_once = most <= DEEPEST_STACK / AT_ONCE ? AT_ONCE : 1,
                                .slot_count = 4096,
                                .whole = most == UINT32_MAX};
    *sites = (struct hs_sites){0};
    building.slots = calloc(building.slot_count, sizeof(*building.slots));
    building.frames = calloc(DEEPEST_STACK, sizeof(struct hs_frame *));
    building.memory = hs_strings__create();
    sites->memory = building.memory;
    int result = building.slots && building.frames && building.memory ? 0 : -ENOMEM;
    if (!result)
        result = add_stacks(&building, symbols, totals);
    free(building.slots);
    free(building.frames);
    if (result)
        hs_sites__free(sites);
    return result;
}

struct sites_ranking {
    const struct hs_sites *sites;
    enum hs_cost cost;
};

static bool comes_before(const void *context, uint32_t a, uint32_t b)
{
    const struct sites_ranking *ranking = context;
    const struct hs_total *first = &ranking->sites->site[a].sum;
    const struct hs_total *second = &ranking->sites->site[b].sum;
    uint64_t first_bytes = hs_cost__bytes(first, ranking->cost);
    uint64_t second_bytes = hs_cost__bytes(second, ranking->cost);
    if (first_bytes != second_bytes)
        return first_bytes > second_bytes;
    uint64_t first_blocks = hs_cost__blocks(first, ranking->cost);
    uint64_t second_blocks = hs_cost__blocks(second, ranking->cost);
    return first_blocks != second_blocks ? first_blocks > second_blocks : first->stack < second->stack;
}

int hs_sites__top(const struct hs_sites *sites, enum hs_cost cost, size_t most, struct hs_top *top)
{
    struct sites_ranking ranking = {sites, cost};
    if (hs_top__start(top, most, sites->count, comes_before, &ranking))
        return -ENOMEM;
    for (size_t i = 0; i < sites->count; i++) {
        if (hs_cost__blocks(&sites->site[i].sum, cost) || hs_cost__bytes(&sites->site[i].sum, cost))
            hs_top__offer(top, (uint32_t)i);
    }
    hs_top__finish(top);
    top->context = NULL;
    return 0;
}

void hs_site__print_stacks(FILE *out, const struct hs_style *style, const struct hs_site *site)
{
    if (site->stack_count > 1)
        fprintf(out, "; %s stacks", hs_text__count(site->stack_count).text);
    putc('\n', out);
    for (uint32_t i = 0; i < site->frame_count; i++) {
        fputs("        ", out);
        hs_frame__print(out, style, site->frames[i]);
    }
    if (!site->frame_count)
        fputs("        [no stack]\n", out);
    if (site->more)
        fprintf(out, "        %s...%s\n", style->faint, style->plain);
}

void hs_sites__free(struct hs_sites *sites)
{
    free(sites->site);
    hs_strings__destroy(sites->memory);
    *sites = (struct hs_sites){0};
}
