// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/dump/modules.h"

#include "host/base/id_map.h"
#include "host/base/path.h"
#include "host/base/search.h"
#include "host/report/frame_key.h"
#include "host/symbols/strings.h"

#include <stdio.h>
#include <string.h>

// The addresses for modules that the first dump does not have; no program uses these.
#define SECOND_MODULES ((uint64_t)1 << 60)
#define PAGE           4096u
#define MOST_PARTS     64 // of a file: no real one is mapped in more

struct modules_group { // neighbouring mappings of one file
    size_t first, behind;
    size_t code; // the first one with a location
    bool used;
    bool is_in_both; // dumps, the same build
    unsigned dump;
};

// What lies in a mapping.
struct use {
    bool used;
    uint64_t some;    // address
    uint64_t highest; // address
};

struct modules_finding {
    struct hs_dump_modules *modules;
    const struct hs_dump *const *dumps;
    struct hs_strings *strings;
    struct hs_id_map by_key;      // of the dumps before the current one
    struct hs_id_map seen;        // by name: how often the current dump had it
    struct use *used;             // by mapping of the current dump
    uint64_t reached;             // past the modules of the first dump that are where they were
    struct modules_group *groups; // by module
    uint64_t next;                // free address for a module of a later dump
};

// What a module is known by. Of those of one name, such as a file that is mapped twice, the first is that of the other
// dump's first, and so on.
static const char *key_of(struct modules_finding *finding, const struct hs_dump_mapping *mapping)
{
    char text[160];
    size_t used = 0;
    for (uint32_t i = 0; i < mapping->build_id_length && used < sizeof(text) - 4; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%02x", mapping->build_id[i]);
    const char *name = hs_strings__add(finding->strings, used ? text : hs_path__name(mapping->path));
    uint32_t before = name ? hs_id_map__find(&finding->seen, (uintptr_t)name) : 0;
    before = before == UINT32_MAX ? 0 : before;
    if (!name || hs_id_map__set(&finding->seen, (uintptr_t)name, before + 1))
        return NULL;
    if (!before)
        return name;
    snprintf(text, sizeof(text), "%p %u", (const void *)name, before);
    return hs_strings__add(finding->strings, text);
}

static int mark_used(struct modules_finding *finding, const struct hs_dump *dump)
{
    free(finding->used);
    finding->used = calloc(dump->mapping_count + 1, sizeof(*finding->used));
    if (!finding->used)
        return -ENOMEM;
    for (size_t i = 0; i < dump->location_count; i++) {
        const struct hs_dump_location *location = &dump->location[i];
        struct use *use = location->mapping != HS_DUMP_NONE ? &finding->used[location->mapping] : NULL;
        if (!use)
            continue;
        use->some = use->used ? use->some : location->address;
        use->highest = location->address > use->highest ? location->address : use->highest;
        use->used = true;
    }
    return 0;
}

// A file that is mapped a second time starts again with a smaller offset.
static struct modules_group next_group(const struct modules_finding *finding, const struct hs_dump *dump, size_t first)
{
    const struct hs_dump_mapping *mapping = dump->mapping;
    struct modules_group group = {
        .first = first, .behind = first + 1, .code = first, .used = finding->used[first].used};
    bool nameless = !*mapping[first].path;
    for (; !nameless && group.behind < dump->mapping_count && group.behind - first < MOST_PARTS; group.behind++) {
        size_t i = group.behind;
        if (strcmp(mapping[i].path, mapping[first].path) != 0 || mapping[i].offset < mapping[i - 1].offset ||
            mapping[i].start == mapping[i - 1].start || mapping[i].start < mapping[i - 1].end)
            break;
        if (finding->used[i].used && !group.used)
            group.code = i;
        group.used = group.used || finding->used[i].used;
    }
    return group;
}

// A mapping without an end is taken to go on to the next one; where that is no sense, as far as it is used.
static uint64_t end_of(const struct modules_finding *finding, const struct hs_dump *dump,
                       const struct modules_group *group)
{
    const struct hs_dump_mapping *last = &dump->mapping[group->behind - 1];
    const uint64_t highest = finding->used[group->behind - 1].highest;
    uint64_t next = group->behind < dump->mapping_count ? dump->mapping[group->behind].start : UINT64_MAX;
    uint64_t end = last->end > last->start ? last->end : next;
    bool is_endless = end == UINT64_MAX && !last->start;
    if (is_endless || end <= last->start)
        end = last->start;
    // Behind the last call.
    return end <= highest && highest < UINT64_MAX - PAGE ? highest + PAGE : end;
}

// The addresses of a mapping of all there is are the file's own already.
static bool is_of_file(const struct hs_dump_mapping *mapping)
{
    return !mapping->start && !mapping->offset && (!mapping->end || mapping->end == UINT64_MAX);
}

static void add_module(struct modules_finding *finding, const struct hs_dump *dump, const struct modules_group *group,
                       uint64_t shift)
{
    const struct use *use = &finding->used[group->code];
    struct hs_dump_modules *modules = finding->modules;
    const struct hs_dump_mapping *code = &dump->mapping[group->code];
    modules->module[modules->count] = (struct hs_module){.start = dump->mapping[group->first].start + shift,
                                                         .end = end_of(finding, dump, group) + shift,
                                                         .bias = code->start - code->offset + shift,
                                                         .unload_time = HS_NEVER,
                                                         .path = code->path,
                                                         .build_id = code->build_id,
                                                         .build_id_length = code->build_id_length};
    modules->described[modules->count] =
        (struct hs_symbols_module){.start = modules->module[modules->count].start,
                                   .bias = modules->module[modules->count].bias,
                                   .bias_of_bytes = code->path[0] == '/' && !is_of_file(code),
                                   .mapped_offset = use->some - code->start + code->offset,
                                   .path = code->path,
                                   .build_id = code->build_id,
                                   .build_id_length = code->build_id_length};
    modules->count++;
}

static void shift_group(struct modules_finding *finding, unsigned which, const struct modules_group *group,
                        uint64_t shift)
{
    const struct hs_dump_mapping *mapping = finding->dumps[which]->mapping;
    for (size_t i = group->first; i < group->behind; i++)
        finding->modules->shift[which][i] = mapping[i].start - mapping[i].offset + shift;
}

// Finds an unused address. False: modules with invalid sizes are not moved.
static bool place(struct modules_finding *finding, uint64_t start, uint64_t end, uint64_t *shift)
{
    uint64_t size = end - start;
    if (size >= SECOND_MODULES || finding->next + size + PAGE >= 2 * SECOND_MODULES)
        return false;
    *shift = finding->next - start;
    finding->next += (size + 2 * PAGE - 1) & ~(uint64_t)(PAGE - 1);
    return true;
}

static int add_first(struct modules_finding *finding, const struct modules_group *group)
{
    const struct hs_dump *dump = finding->dumps[0];
    const char *key = key_of(finding, &dump->mapping[group->code]);
    if (!key)
        return -ENOMEM;
    uint32_t number = (uint32_t)finding->modules->count;
    if (hs_id_map__set(&finding->by_key, (uintptr_t)key, number))
        return -ENOMEM;
    finding->groups[number] = *group;
    uint64_t start = dump->mapping[group->first].start, end = end_of(finding, dump, group), shift = 0;
    // A module at 0 counts from the beginning of its file; other modules may do the same.
    if (start && start >= finding->reached)
        finding->reached = end;
    else
        place(finding, start, end, &shift);
    add_module(finding, dump, group, shift);
    shift_group(finding, 0, group, shift);
    return 0;
}

// Parts of a file need not lie as far from each other in memory as in the file: what counts is the part of the earlier
// dump's module that holds the same bytes, the one at the same place if there are several.
static uint64_t shift_of(const struct modules_finding *finding, uint32_t module, const struct hs_dump_mapping *of,
                         size_t number)
{
    const struct modules_group *group = &finding->groups[module];
    const struct hs_dump_mapping *mapping = finding->dumps[group->dump]->mapping;
    const uint64_t *shift = finding->modules->shift[group->dump];
    size_t best = group->first + number;
    if (best < group->behind && mapping[best].offset == of->offset && mapping[best].executable == of->executable)
        return shift[best];
    best = group->behind;
    for (size_t i = group->first; i < group->behind; i++) {
        bool holds = of->offset - mapping[i].offset < mapping[i].end - mapping[i].start;
        bool better = best == group->behind || (of->executable && mapping[i].executable && !mapping[best].executable);
        best = holds && better ? i : best;
    }
    return best < group->behind ? shift[best] : finding->modules->module[module].bias;
}

static int add_later(struct modules_finding *finding, unsigned which, struct modules_group *group)
{
    const struct hs_dump *dump = finding->dumps[which];
    const char *key = key_of(finding, &dump->mapping[group->code]);
    if (!key)
        return -ENOMEM;
    uint32_t known = hs_id_map__find(&finding->by_key, (uintptr_t)key);
    for (size_t i = group->first; known != UINT32_MAX && i < group->behind; i++)
        finding->modules->shift[which][i] = shift_of(finding, known, &dump->mapping[i], i - group->first);
    if (known != UINT32_MAX) {
        finding->groups[known].is_in_both = true;
        return 0;
    }
    uint64_t shift = 0;
    bool fits = place(finding, dump->mapping[group->first].start, end_of(finding, dump, group), &shift);
    shift_group(finding, which, group, shift);
    if (!fits)
        return 0;
    group->dump = which;
    finding->groups[finding->modules->count] = *group;
    if (hs_id_map__set(&finding->by_key, (uintptr_t)key, (uint32_t)finding->modules->count))
        return -ENOMEM;
    add_module(finding, dump, group, shift);
    return 0;
}

static int find_in(struct modules_finding *finding, unsigned which)
{
    const struct hs_dump *dump = finding->dumps[which];
    finding->modules->shift[which] = calloc(dump->mapping_count + 1, sizeof(uint64_t));
    if (!finding->modules->shift[which] || mark_used(finding, dump))
        return -ENOMEM;
    int result = 0;
    hs_id_map__free(&finding->seen);
    for (size_t i = 0; !result && i < dump->mapping_count;) {
        struct modules_group group = next_group(finding, dump, i);
        if (group.used)
            result = which ? add_later(finding, which, &group) : add_first(finding, &group);
        i = group.behind;
    }
    return result;
}

// ---- builds --------------------------------------------------------------------------------------------------------

static const char *library_of(const struct modules_finding *finding, const struct modules_group *group)
{
    const struct hs_dump *dump = finding->dumps[group->dump];
    return hs_frame_key_library(dump->mapping[group->code].path, dump->executable);
}

static int mark_rebuilt(struct modules_finding *finding, const struct modules_group *group)
{
    bool **marks = &finding->modules->rebuilt[group->dump];
    if (!*marks)
        *marks = calloc(finding->dumps[group->dump]->mapping_count + 1, sizeof(**marks));
    for (size_t i = group->first; *marks && i < group->behind; i++)
        (*marks)[i] = true;
    return *marks ? 0 : -ENOMEM;
}

// The interned name of a file that only one of the two dumps has. *library: "": it has none, or both have it. 0 or
// -ENOMEM.
static int find_library(const struct modules_finding *finding, const struct modules_group *group, const char **library)
{
    *library = group->is_in_both ? "" : library_of(finding, group);
    if (**library)
        *library = hs_strings__add(finding->strings, *library);
    return *library ? 0 : -ENOMEM;
}

// Files of one name that only one of the two dumps has.
static int find_rebuilt(struct modules_finding *finding)
{
    struct hs_id_map of_dump[2] = {{0}};
    const struct modules_group *groups = finding->groups;
    const char *library;
    int result = 0;
    for (size_t i = 0; !result && i < finding->modules->count; i++) {
        result = find_library(finding, &groups[i], &library);
        if (!result && *library)
            result = hs_id_map__set(&of_dump[groups[i].dump], (uintptr_t)library, 0);
    }
    for (size_t i = 0; !result && i < finding->modules->count; i++) {
        result = find_library(finding, &groups[i], &library);
        if (!result && *library && hs_id_map__find(&of_dump[!groups[i].dump], (uintptr_t)library) != UINT32_MAX)
            result = mark_rebuilt(finding, &groups[i]);
    }
    hs_id_map__free(&of_dump[0]);
    hs_id_map__free(&of_dump[1]);
    return result;
}

int hs_dump_modules__find(struct hs_dump_modules *modules, const struct hs_dump *const *dumps, unsigned dump_count)
{
    struct modules_finding finding = {.modules = modules, .dumps = dumps, .next = SECOND_MODULES};
    size_t most = 0;
    for (unsigned which = 0; which < dump_count; which++)
        most += dumps[which]->mapping_count;
    *modules = (struct hs_dump_modules){.shift = calloc(dump_count, sizeof(*modules->shift)),
                                        .rebuilt = calloc(dump_count, sizeof(*modules->rebuilt)),
                                        .dump_count = dump_count};
    modules->module = calloc(most + 1, sizeof(*modules->module));
    modules->described = calloc(most + 1, sizeof(*modules->described));
    finding.groups = calloc(most + 1, sizeof(*finding.groups));
    finding.strings = hs_strings__create();
    bool ready = modules->shift && modules->rebuilt && modules->module && modules->described && finding.strings &&
                 finding.groups;
    int result = ready ? 0 : -ENOMEM;
    for (unsigned which = 0; !result && which < dump_count; which++)
        result = find_in(&finding, which);
    if (!result && dump_count == 2)
        result = find_rebuilt(&finding);
    hs_strings__destroy(finding.strings);
    hs_id_map__free(&finding.by_key);
    hs_id_map__free(&finding.seen);
    free(finding.used);
    free(finding.groups);
    return result;
}

void hs_dump_modules__free(struct hs_dump_modules *modules)
{
    free(modules->module);
    free(modules->described);
    for (unsigned which = 0; modules->shift && which < modules->dump_count; which++)
        free(modules->shift[which]);
    for (unsigned which = 0; modules->rebuilt && which < modules->dump_count; which++)
        free(modules->rebuilt[which]);
    free(modules->shift);
    free(modules->rebuilt);
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
    size_t low = HS_SEARCH(modules->count, i, modules->module[i].start <= address);
    return low && address < modules->module[low - 1].end;
}
