// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/dump/modules.h"

#include "host/dump/id_map.h"
#include "host/symbols/strings.h"

#include <stdio.h>
#include <string.h>

// Where modules go that only the second dump has: no program uses these addresses.
#define SECOND_MODULES ((uint64_t)1 << 60)
#define PAGE           4096u

struct finding {
    struct hs_dump_modules *modules;
    const struct hs_dump *const *dumps;
    struct hs_strings *strings;
    struct hs_id_map by_key; // of the first dump
    uint8_t *used;           // by mapping of the dump at hand: a location lies in it
    uint64_t next;           // free address for a module of the second dump
};

struct group { // neighbouring mappings of one file
    size_t first, behind;
    size_t code; // the first one with a location
    bool used;
};

static const char *key_of(struct finding *finding, const struct hs_dump_mapping *mapping)
{
    char text[160];
    size_t used = 0;
    for (uint32_t i = 0; i < mapping->build_id_length && used < sizeof(text) - 4; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%02x", mapping->build_id[i]);
    const char *slash = strrchr(mapping->path, '/');
    return hs_strings__add(finding->strings, used ? text : slash ? slash + 1 : mapping->path);
}

static int mark_used(struct finding *finding, const struct hs_dump *dump)
{
    free(finding->used);
    finding->used = calloc(dump->mapping_count + 1, 1);
    if (!finding->used)
        return -ENOMEM;
    for (size_t i = 0; i < dump->location_count; i++) {
        if (dump->location[i].mapping != HS_DUMP_NONE)
            finding->used[dump->location[i].mapping] = 1;
    }
    return 0;
}

// A file that is mapped a second time begins anew with a smaller offset.
static struct group next_group(const struct finding *finding, const struct hs_dump *dump, size_t first)
{
    const struct hs_dump_mapping *mapping = dump->mapping;
    struct group group = {first, first + 1, first, finding->used[first]};
    for (; group.behind < dump->mapping_count; group.behind++) {
        size_t i = group.behind;
        if (strcmp(mapping[i].path, mapping[first].path) != 0 || mapping[i].offset < mapping[i - 1].offset)
            break;
        if (finding->used[i] && !group.used)
            group.code = i;
        group.used = group.used || finding->used[i];
    }
    return group;
}

// A mapping without an end is taken to go on to the next one.
static uint64_t end_of(const struct hs_dump *dump, const struct group *group)
{
    const struct hs_dump_mapping *last = &dump->mapping[group->behind - 1];
    if (last->end > last->start)
        return last->end;
    return group->behind < dump->mapping_count ? dump->mapping[group->behind].start : UINT64_MAX;
}

static void add_module(struct finding *finding, const struct hs_dump *dump, const struct group *group, uint64_t shift)
{
    struct hs_dump_modules *modules = finding->modules;
    const struct hs_dump_mapping *code = &dump->mapping[group->code];
    modules->module[modules->count] = (struct hs_module){.start = dump->mapping[group->first].start + shift,
                                                         .end = end_of(dump, group) + shift,
                                                         .bias = code->start - code->offset + shift,
                                                         .unload_time = HS_NEVER,
                                                         .path = code->path,
                                                         .build_id = code->build_id,
                                                         .build_id_length = code->build_id_length};
    modules->described[modules->count] = (struct hs_symbols_module){.start = modules->module[modules->count].start,
                                                                    .bias = modules->module[modules->count].bias,
                                                                    .bias_of_bytes = code->path[0] == '/',
                                                                    .mapped_offset = code->offset,
                                                                    .path = code->path,
                                                                    .build_id = code->build_id,
                                                                    .build_id_length = code->build_id_length};
    modules->count++;
}

static void shift_group(struct finding *finding, unsigned which, const struct group *group, uint64_t shift)
{
    const struct hs_dump_mapping *mapping = finding->dumps[which]->mapping;
    for (size_t i = group->first; i < group->behind; i++)
        finding->modules->shift[which][i] = mapping[i].start - mapping[i].offset + shift;
}

static int add_first(struct finding *finding, const struct group *group)
{
    const struct hs_dump *dump = finding->dumps[0];
    const char *key = key_of(finding, &dump->mapping[group->code]);
    if (!key)
        return -ENOMEM;
    uint32_t number = (uint32_t)finding->modules->count;
    if (*key && hs_id_map__find(&finding->by_key, (uintptr_t)key) == UINT32_MAX &&
        hs_id_map__set(&finding->by_key, (uintptr_t)key, number))
        return -ENOMEM;
    add_module(finding, dump, group, 0);
    shift_group(finding, 0, group, 0);
    return 0;
}

static int add_second(struct finding *finding, const struct group *group)
{
    const struct hs_dump *dump = finding->dumps[1];
    const char *key = key_of(finding, &dump->mapping[group->code]);
    if (!key)
        return -ENOMEM;
    uint32_t known = *key ? hs_id_map__find(&finding->by_key, (uintptr_t)key) : UINT32_MAX;
    for (size_t i = group->first; known != UINT32_MAX && i < group->behind; i++)
        finding->modules->shift[1][i] = finding->modules->module[known].bias;
    if (known != UINT32_MAX)
        return 0;
    uint64_t start = dump->mapping[group->first].start;
    uint64_t size = end_of(dump, group) - start;
    // Senseless sizes stay where they are.
    bool fits = size < SECOND_MODULES && finding->next + size + PAGE < 2 * SECOND_MODULES;
    uint64_t shift = fits ? finding->next - start : 0;
    shift_group(finding, 1, group, shift);
    if (!fits)
        return 0;
    add_module(finding, dump, group, shift);
    finding->next += (size + 2 * PAGE - 1) & ~(uint64_t)(PAGE - 1);
    return 0;
}

static int find_in(struct finding *finding, unsigned which)
{
    const struct hs_dump *dump = finding->dumps[which];
    finding->modules->shift[which] = calloc(dump->mapping_count + 1, sizeof(uint64_t));
    if (!finding->modules->shift[which] || mark_used(finding, dump))
        return -ENOMEM;
    int result = 0;
    for (size_t i = 0; !result && i < dump->mapping_count;) {
        struct group group = next_group(finding, dump, i);
        if (group.used)
            result = which ? add_second(finding, &group) : add_first(finding, &group);
        i = group.behind;
    }
    return result;
}

int hs_dump_modules__find(struct hs_dump_modules *modules, const struct hs_dump *const *dumps, unsigned dump_count)
{
    struct finding finding = {.modules = modules, .dumps = dumps, .next = SECOND_MODULES};
    size_t most = dumps[0]->mapping_count + (dump_count > 1 ? dumps[1]->mapping_count : 0);
    *modules = (struct hs_dump_modules){0};
    modules->module = calloc(most + 1, sizeof(*modules->module));
    modules->described = calloc(most + 1, sizeof(*modules->described));
    finding.strings = hs_strings__create();
    int result = modules->module && modules->described && finding.strings ? 0 : -ENOMEM;
    for (unsigned which = 0; !result && which < dump_count; which++)
        result = find_in(&finding, which);
    hs_strings__destroy(finding.strings);
    hs_id_map__free(&finding.by_key);
    free(finding.used);
    return result;
}

void hs_dump_modules__free(struct hs_dump_modules *modules)
{
    free(modules->module);
    free(modules->described);
    free(modules->shift[0]);
    free(modules->shift[1]);
    *modules = (struct hs_dump_modules){0};
}

uint64_t hs_dump_modules__place(const struct hs_dump_modules *modules, unsigned which, const struct hs_dump *dump,
                                const struct hs_dump_location *location)
{
    if (location->mapping == HS_DUMP_NONE)
        return location->address;
    return hs_dump__offset(dump, location) + modules->shift[which][location->mapping];
}

bool hs_dump_modules__holds(const struct hs_dump_modules *modules, uint64_t address)
{
    size_t low = 0;
    size_t high = modules->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (modules->module[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low && address < modules->module[low - 1].end;
}
