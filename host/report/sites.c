// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/report/sites.h"

#include "host/report/frames.h"
#include "host/report/text.h"
#include "host/symbols/strings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEEPEST_STACK 65536u

struct building {
    struct hs_sites *sites;
    struct hs_strings *memory;
    size_t capacity;
    uint32_t *slots; // site number + 1
    size_t slot_count;
    const struct hs_frame **frames; // of the stack at hand
    uint32_t most;
};

static bool same_look(const struct hs_frame *a, const struct hs_frame *b)
{
    return a == b || (a->function == b->function && a->file == b->file && a->line == b->line);
}

static uint64_t hash_look(const struct building *building, uint32_t count)
{
    uint64_t hash = count;
    for (uint32_t i = 0; i < count; i++) {
        const struct hs_frame *frame = building->frames[i];
        hash = (hash ^ (hash >> 29) ^ (uintptr_t)frame->function ^ ((uint64_t)frame->line << 44)) * 0x9e3779b97f4a7c15u;
    }
    return hash ^ (hash >> 32);
}

static bool is_site(const struct hs_site *site, const struct building *building, uint32_t count)
{
    if (site->frame_count != count)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (!same_look(site->frames[i], building->frames[i]))
            return false;
    }
    return true;
}

static int grow_sites(struct building *building)
{
    struct hs_sites *sites = building->sites;
    if (sites->count < building->capacity)
        return 0;
    size_t capacity = building->capacity ? building->capacity * 2 : 1024;
    struct hs_site *bigger = reallocarray(sites->site, capacity, sizeof(*bigger));
    if (!bigger)
        return -ENOMEM;
    sites->site = bigger;
    building->capacity = capacity;
    return 0;
}

// Few sites stand for many stacks: the table follows the sites.
static int grow_slots(struct building *building)
{
    if (building->sites->count * 2 < building->slot_count)
        return 0;
    size_t count = building->slot_count * 2;
    uint32_t *bigger = calloc(count, sizeof(*bigger));
    if (!bigger)
        return -ENOMEM;
    for (size_t i = 0; i < building->sites->count; i++) {
        size_t slot = building->sites->site[i].hash & (count - 1);
        while (bigger[slot])
            slot = (slot + 1) & (count - 1);
        bigger[slot] = (uint32_t)i + 1;
    }
    free(building->slots);
    building->slots = bigger;
    building->slot_count = count;
    return 0;
}

static int add_site(struct building *building, uint32_t count, uint32_t stack, uint64_t hash)
{
    if (grow_sites(building))
        return -ENOMEM;
    size_t size = count * sizeof(*building->frames);
    const struct hs_frame **frames = hs_strings__memory(building->memory, size + 1);
    if (!frames)
        return -ENOMEM;
    if (size)
        memcpy(frames, building->frames, size);
    building->sites->site[building->sites->count++] = (struct hs_site){
        .frames = frames, .frame_count = count, .hash = hash, .sum = {.stack = stack, .lifetime_min = UINT64_MAX}};
    return 0;
}

static void add_total(struct hs_total *sum, const struct hs_total *total)
{
    sum->allocated_bytes += total->allocated_bytes;
    sum->allocated_usable += total->allocated_usable;
    sum->allocated_count += total->allocated_count;
    sum->live_bytes += total->live_bytes;
    sum->live_usable += total->live_usable;
    sum->live_count += total->live_count;
    sum->peak_bytes += total->peak_bytes;
    sum->peak_usable += total->peak_usable;
    sum->peak_count += total->peak_count;
    sum->temporary_bytes += total->temporary_bytes;
    sum->temporary_count += total->temporary_count;
    sum->freed_bytes += total->freed_bytes;
    sum->freed_count += total->freed_count;
}

static int add_stack(struct building *building, struct hs_trace_symbols *symbols, const struct hs_total *total)
{
    uint32_t depth = 0;
    uint32_t most = building->most < DEEPEST_STACK ? building->most : DEEPEST_STACK;
    uint32_t count =
        hs_frames__of_stack(symbols, total->stack, building->most != UINT32_MAX, building->frames, most, &depth);
    if (grow_slots(building))
        return -ENOMEM;
    uint64_t hash = hash_look(building, count);
    size_t slot = hash & (building->slot_count - 1);
    while (building->slots[slot] && !is_site(&building->sites->site[building->slots[slot] - 1], building, count))
        slot = (slot + 1) & (building->slot_count - 1);
    if (!building->slots[slot]) {
        if (add_site(building, count, total->stack, hash))
            return -ENOMEM;
        building->slots[slot] = (uint32_t)building->sites->count;
    }
    struct hs_site *site = &building->sites->site[building->slots[slot] - 1];
    add_total(&site->sum, total);
    site->stack_count++;
    site->more = site->more || depth > count;
    return 0;
}

int hs_sites__build(struct hs_sites *sites, struct hs_trace_symbols *symbols, const struct hs_totals *totals,
                    uint32_t most)
{
    struct building building = {.sites = sites, .most = most, .slot_count = 4096};
    *sites = (struct hs_sites){0};
    building.slots = calloc(building.slot_count, sizeof(*building.slots));
    building.frames = calloc(DEEPEST_STACK, sizeof(struct hs_frame *));
    building.memory = hs_strings__create();
    sites->memory = building.memory;
    int result = building.slots && building.frames && building.memory ? 0 : -ENOMEM;
    for (size_t i = 0; !result && i < totals->count; i++)
        result = add_stack(&building, symbols, &totals->total[i]);
    free(building.slots);
    free(building.frames);
    if (result)
        hs_sites__free(sites);
    return result;
}

struct ranking {
    const struct hs_sites *sites;
    enum hs_cost cost;
};

static bool comes_before(const void *context, uint32_t a, uint32_t b)
{
    const struct ranking *ranking = context;
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
    struct ranking ranking = {sites, cost};
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
