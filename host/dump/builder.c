// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/dump/builder.h"

#include "host/base/search.h"
#include "host/base/strings.h"
#include "host/symbols/strings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_BUILD_ID 64

void hs_dump_builder__start(struct hs_dump_builder *builder, struct hs_dump *dump)
{
    *builder = (struct hs_dump_builder){.dump = dump};
}

void hs_dump_builder__free(struct hs_dump_builder *builder)
{
    hs_id_map__free(&builder->by_address);
    hs_id_map__free(&builder->by_name);
    hs_id_map__free(&builder->by_path);
    hs_id_map__free(&builder->by_uid);
}

// ---- arrays --------------------------------------------------------------------------------------------------------

static void *grown(void *items, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return items;
    size_t wanted = *room ? *room * 2 : 256;
    void *bigger = wanted < UINT32_MAX ? reallocarray(items, wanted, size) : NULL;
    if (bigger)
        *room = wanted;
    return bigger;
}

// Room for one more element of an array of the dump.
#define GROW(builder, array, count, room)                                                                              \
    __extension__({                                                                                                    \
        void *bigger =                                                                                                 \
            grown((builder)->dump->array, (builder)->dump->count, &(builder)->room, sizeof(*(builder)->dump->array));  \
        if (bigger)                                                                                                    \
            (builder)->dump->array = bigger;                                                                           \
        bigger != NULL;                                                                                                \
    })

const char *hs_dump_builder__string(struct hs_dump_builder *builder, const char *text, size_t length)
{
    return hs_strings__add_bytes(builder->dump->strings, text, length);
}

int hs_dump_builder__warn(struct hs_dump_builder *builder, const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    if (!GROW(builder, warning, warning_count, warning_room))
        return -ENOMEM;
    const char *kept = hs_strings__add(builder->dump->strings, text);
    if (!kept)
        return -ENOMEM;
    builder->dump->warning[builder->dump->warning_count++] = kept;
    return 0;
}

int hs_dump_builder__add_fact(struct hs_dump_builder *builder, const char *key, size_t key_length, const char *value,
                              size_t value_length)
{
    if (!GROW(builder, fact, fact_count, fact_room))
        return -ENOMEM;
    struct hs_dump_fact fact = {hs_dump_builder__string(builder, key, key_length),
                                hs_dump_builder__string(builder, value, value_length)};
    if (!fact.key || !fact.value)
        return -ENOMEM;
    builder->dump->fact[builder->dump->fact_count++] = fact;
    return 0;
}

// ---- locations -----------------------------------------------------------------------------------------------------

uint32_t hs_dump_builder__add_location(struct hs_dump_builder *builder, const struct hs_dump_location *location)
{
    if (!GROW(builder, location, location_count, location_room))
        return HS_DUMP_NONE;
    builder->dump->location[builder->dump->location_count] = *location;
    return (uint32_t)builder->dump->location_count++;
}

uint32_t hs_dump_builder__at(struct hs_dump_builder *builder, uint64_t address)
{
    uint32_t known = hs_id_map__find(&builder->by_address, address);
    if (known != UINT32_MAX)
        return known;
    struct hs_dump_location location = {.address = address, .has_address = true, .mapping = HS_DUMP_NONE};
    uint32_t added = hs_dump_builder__add_location(builder, &location);
    if (added != HS_DUMP_NONE && hs_id_map__set(&builder->by_address, address, added))
        return HS_DUMP_NONE;
    return added;
}

uint32_t hs_dump_builder__named(struct hs_dump_builder *builder, const char *name, size_t length)
{
    const char *kept = hs_dump_builder__string(builder, name, length);
    if (!kept)
        return HS_DUMP_NONE;
    uint32_t known = hs_id_map__find(&builder->by_name, (uintptr_t)kept);
    if (known != UINT32_MAX)
        return known;
    struct hs_dump_location location = {.mapping = HS_DUMP_NONE};
    struct hs_dump_line line = {.function = kept};
    uint32_t added = hs_dump_builder__add_location(builder, &location);
    if (added == HS_DUMP_NONE || hs_dump_builder__add_line(builder, added, &line) ||
        hs_id_map__set(&builder->by_name, (uintptr_t)kept, added))
        return HS_DUMP_NONE;
    return added;
}

int hs_dump_builder__add_line(struct hs_dump_builder *builder, uint32_t location, const struct hs_dump_line *line)
{
    struct hs_dump_location *of = &builder->dump->location[location];
    bool neighbour = of->first_line + of->line_count == builder->dump->line_count;
    if (of->line_count && !neighbour)
        return 0;
    if (!GROW(builder, line, line_count, line_room))
        return -ENOMEM;
    if (!of->line_count)
        of->first_line = (uint32_t)builder->dump->line_count;
    of->line_count++;
    builder->dump->line[builder->dump->line_count++] = *line;
    return 0;
}

// ---- contexts ------------------------------------------------------------------------------------------------------

static uint32_t frames_in_use(const struct hs_dump *dump)
{
    if (!dump->context_count || dump->caller)
        return 0;
    const struct hs_dump_context *last = &dump->context[dump->context_count - 1];
    return last->first + last->depth;
}

int hs_dump_builder__add_frame(struct hs_dump_builder *builder, uint32_t location)
{
    if (location == HS_DUMP_NONE || !GROW(builder, frames, frame_count, frame_room))
        return -ENOMEM;
    builder->dump->frames[builder->dump->frame_count++] = location;
    return 0;
}

void hs_dump_builder__drop_frames(struct hs_dump_builder *builder)
{
    builder->dump->frame_count = frames_in_use(builder->dump);
}

int hs_dump_builder__end_context(struct hs_dump_builder *builder, const struct hs_dump_counts *counts)
{
    struct hs_dump *dump = builder->dump;
    if (!GROW(builder, context, context_count, context_room))
        return -ENOMEM;
    uint32_t first = frames_in_use(dump);
    dump->context[dump->context_count++] =
        (struct hs_dump_context){.first = first, .depth = (uint32_t)dump->frame_count - first, .counts = *counts};
    return 0;
}

int hs_dump_builder__add_context(struct hs_dump_builder *builder, uint32_t innermost,
                                 const struct hs_dump_counts *counts)
{
    struct hs_dump *dump = builder->dump;
    if (!GROW(builder, context, context_count, context_room))
        return -ENOMEM;
    dump->context[dump->context_count++] = (struct hs_dump_context){.first = innermost, .counts = *counts};
    return 0;
}

// ---- threads and mappings ------------------------------------------------------------------------------------------

uint32_t hs_dump_builder__thread(struct hs_dump_builder *builder, uint64_t uid)
{
    uint32_t known = hs_id_map__find(&builder->by_uid, uid);
    if (known != UINT32_MAX)
        return known;
    if (!GROW(builder, thread, thread_count, thread_room))
        return HS_DUMP_NONE;
    uint32_t added = (uint32_t)builder->dump->thread_count;
    if (hs_id_map__set(&builder->by_uid, uid, added))
        return HS_DUMP_NONE;
    builder->dump->thread[builder->dump->thread_count++] = (struct hs_dump_thread){.uid = uid, .name = ""};
    return added;
}

int hs_dump_builder__add_share(struct hs_dump_builder *builder, const struct hs_dump_share *share)
{
    if (!GROW(builder, share, share_count, share_room))
        return -ENOMEM;
    builder->dump->share[builder->dump->share_count++] = *share;
    return 0;
}

int hs_dump_builder__add_mapping(struct hs_dump_builder *builder, const struct hs_dump_mapping *mapping)
{
    if (!GROW(builder, mapping, mapping_count, mapping_room))
        return -ENOMEM;
    builder->dump->mapping[builder->dump->mapping_count++] = *mapping;
    return 0;
}

const uint8_t *hs_dump_builder__build_id(struct hs_dump_builder *builder, const char *text, size_t length,
                                         uint32_t *bytes)
{
    *bytes = 0;
    if (!length || length % 2 || length > 2 * LONGEST_BUILD_ID)
        return NULL;
    uint8_t *id = hs_strings__memory(builder->dump->strings, length / 2);
    for (size_t i = 0; id && i < length / 2; i++) {
        int high = hs_string__digit(text[2 * i]);
        int low = hs_string__digit(text[2 * i + 1]);
        if (high < 0 || low < 0)
            return NULL;
        id[i] = (uint8_t)(high << 4 | low);
    }
    *bytes = id ? (uint32_t)(length / 2) : 0;
    return id;
}

// ---- the end -------------------------------------------------------------------------------------------------------

struct numbered {
    struct hs_dump_mapping mapping;
    uint32_t number; // as the dump has it
};

// Mappings of addresses that count from the beginning of their files all begin at one place.
static int compare_mappings(const void *left, const void *right)
{
    const struct numbered *a = left;
    const struct numbered *b = right;
    if (a->mapping.start != b->mapping.start)
        return a->mapping.start < b->mapping.start ? -1 : 1;
    if (a->mapping.end != b->mapping.end)
        return a->mapping.end < b->mapping.end ? -1 : 1;
    return a->number < b->number ? -1 : 1;
}

// Locations that came with a mapping's number need the new one.
static int sort_mappings(struct hs_dump *dump)
{
    const size_t count = dump->mapping_count;
    struct numbered *sorted = calloc(count + 1, sizeof(*sorted));
    uint32_t *new_number = calloc(count + 1, sizeof(*new_number));
    for (size_t i = 0; sorted && i < count; i++)
        sorted[i] = (struct numbered){dump->mapping[i], (uint32_t)i};
    if (sorted && new_number)
        qsort(sorted, count, sizeof(*sorted), compare_mappings);
    for (size_t i = 0; sorted && new_number && i < count; i++) {
        dump->mapping[i] = sorted[i].mapping;
        new_number[sorted[i].number] = (uint32_t)i;
    }
    for (size_t i = 0; new_number && i < dump->location_count; i++)
        if (dump->location[i].mapping != HS_DUMP_NONE)
            dump->location[i].mapping = new_number[dump->location[i].mapping];
    bool good = sorted && new_number;
    free(sorted);
    free(new_number);
    return good ? 0 : -ENOMEM;
}

static uint32_t mapping_at(const struct hs_dump *dump, uint64_t address)
{
    size_t low = HS_SEARCH(dump->mapping_count, i, dump->mapping[i].start <= address);
    bool inside = low && address < dump->mapping[low - 1].end;
    bool inside_two = low > 1 && address < dump->mapping[low - 2].end;
    return inside && !inside_two ? (uint32_t)low - 1 : HS_DUMP_NONE;
}

static void find_mappings(struct hs_dump *dump)
{
    for (size_t i = 0; i < dump->location_count; i++) {
        struct hs_dump_location *location = &dump->location[i];
        if (location->has_address && location->mapping == HS_DUMP_NONE)
            location->mapping = mapping_at(dump, location->address);
    }
}

// Lines "# build-id: HEX PATH" speak of every mapping of that path.
static int note_build_id(struct hs_dump_builder *builder, struct hs_id_map *by_path, uint32_t fact)
{
    const char *value = builder->dump->fact[fact].value;
    const char *path = value + strcspn(value, " ");
    path += strspn(path, " ");
    path = hs_dump_builder__string(builder, path, strlen(path));
    return path ? hs_id_map__set(by_path, (uintptr_t)path, fact) : -ENOMEM;
}

static int take_build_ids(struct hs_dump_builder *builder)
{
    struct hs_dump *dump = builder->dump;
    struct hs_id_map by_path = {0};
    int result = 0;
    for (size_t i = 0; !result && i < dump->fact_count; i++) {
        if (!strcmp(dump->fact[i].key, "build-id"))
            result = note_build_id(builder, &by_path, (uint32_t)i);
    }
    for (size_t i = 0; !result && by_path.count && i < dump->mapping_count; i++) {
        struct hs_dump_mapping *mapping = &dump->mapping[i];
        uint32_t fact = hs_id_map__find(&by_path, (uintptr_t)mapping->path);
        if (fact == UINT32_MAX || mapping->build_id_length)
            continue;
        const char *digits = dump->fact[fact].value;
        mapping->build_id = hs_dump_builder__build_id(builder, digits, strcspn(digits, " "), &mapping->build_id_length);
    }
    hs_id_map__free(&by_path);
    return result;
}

static void find_executable(struct hs_dump *dump)
{
    const char *fact = hs_dump__fact(dump, "executable");
    if (fact)
        dump->executable = fact;
    // The kernel maps the program first; a loader that is run as a program is no better than nothing.
    for (size_t i = 0; !*dump->executable && i < dump->mapping_count; i++) {
        if (dump->mapping[i].path[0] == '/')
            dump->executable = dump->mapping[i].path;
    }
}

// A file that was cut at the end of a line still says how much there was.
static int check_sums(struct hs_dump_builder *builder)
{
    const struct hs_dump *dump = builder->dump;
    uint64_t live = 0;
    uint64_t all = 0;
    for (size_t i = 0; i < dump->context_count; i++) {
        live += dump->context[i].counts.live_bytes;
        all += dump->context[i].counts.all_bytes;
    }
    // Every line was rounded on its own.
    bool short_of_live = live < dump->total.live_bytes - dump->total.live_bytes / 8;
    bool short_of_all = all < dump->total.all_bytes - dump->total.all_bytes / 8;
    if (!dump->has_total || (!short_of_live && !short_of_all))
        return 0;
    char counts[64] = "the first lines count";
    if (dump->format == HS_DUMP_MASSIF)
        snprintf(counts, sizeof(counts), "snapshot %s counts", hs_dump__fact(dump, "snapshot"));
    return hs_dump_builder__warn(builder, "%s %llu bytes, the stacks only %llu: the file may have been cut", counts,
                                 (unsigned long long)(short_of_live ? dump->total.live_bytes : dump->total.all_bytes),
                                 (unsigned long long)(short_of_live ? live : all));
}

// Of a process that was sampled only from some moment on.
static int warn_of_older(struct hs_dump_builder *builder)
{
    const char *attached = hs_dump__fact(builder->dump, "attached");
    const char *older = hs_dump__fact(builder->dump, "older-bytes");
    if (!attached)
        return 0;
    double seconds = strtod(attached, NULL) / 1e9, bytes = older ? strtod(older, NULL) : 0;
    return older ? hs_dump_builder__warn(builder,
                                         "sampling began %.3g s after the process had started; some %.3g MiB of older "
                                         "blocks are not in it",
                                         seconds, bytes / (1 << 20))
                 : hs_dump_builder__warn(builder,
                                         "sampling began %.3g s after the process had started; older blocks are not in "
                                         "it",
                                         seconds);
}

// By heapsonde's sampler, whose memory is bounded.
static int warn_of_dropped(struct hs_dump_builder *builder)
{
    const char *dropped = hs_dump__fact(builder->dump, "dropped");
    if (!dropped || !strtoull(dropped, NULL, 10))
        return 0;
    return hs_dump_builder__warn(builder,
                                 "samples left out, for lack of room (HEAPSONDE_MEMORY) or on small stacks: %s; more "
                                 "memory may be in use",
                                 dropped);
}

int hs_dump_builder__finish(struct hs_dump_builder *builder)
{
    struct hs_dump *dump = builder->dump;
    hs_dump_builder__drop_frames(builder);
    if (sort_mappings(dump))
        return -ENOMEM;
    find_mappings(dump);
    if (take_build_ids(builder))
        return -ENOMEM;
    find_executable(dump);
    bool counted = !dump->context_count;
    for (size_t i = 0; i < dump->context_count; i++) {
        const struct hs_dump_counts *counts = &dump->context[i].counts;
        dump->has_all = dump->has_all || counts->all_blocks || counts->all_bytes;
        counted = counted || counts->live_blocks || counts->all_blocks;
    }
    dump->has_blocks = dump->has_blocks && counted;
    if (builder->negative && hs_dump_builder__warn(builder, "%llu negative values count as 0: the file is a difference",
                                                   (unsigned long long)builder->negative))
        return -ENOMEM;
    return warn_of_older(builder) || warn_of_dropped(builder) ? -ENOMEM : check_sums(builder);
}
