// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/fleet/slice_dump.h"

#include "host/dump/builder.h"
#include "host/dump/view.h"
#include "host/dump/write.h"
#include "host/fleet/keys.h"
#include "host/fleet/slice_stacks.h"
#include "host/symbols/strings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct slice_dump {
    struct hs_dump *dump;
    struct hs_dump_builder builder;
    struct hs_id_map location_of; // by a hash of its lines
};

static uint64_t text_hash(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = hs_fleet_key__mixed(hash + (unsigned char)*text);
    return hs_fleet_key__mixed(hash + 256);
}

// A place in the code with the functions that are inlined there: `count` frames.
static uint32_t location_of(struct slice_dump *making, const struct hs_fleet_frame *frames, size_t count)
{
    char text[HS_SLICE_NAME];
    uint64_t hash = 0;
    for (size_t i = 0; i < count; i++)
        hash = text_hash(text_hash(text_hash(hash + frames[i].line, frames[i].function), frames[i].file),
                         frames[i].module) +
               (*frames[i].function ? 0 : frames[i].offset);
    uint32_t known = hs_id_map__find(&making->location_of, hash);
    if (known != UINT32_MAX)
        return known;
    const struct hs_dump_location location = {.mapping = HS_DUMP_NONE};
    uint32_t added = hs_dump_builder__add_location(&making->builder, &location);
    if (added == HS_DUMP_NONE || hs_id_map__set(&making->location_of, hash, added))
        return HS_DUMP_NONE;
    for (size_t i = 0; i < count; i++) {
        const char *name = hs_slice_frame__name(&frames[i], text);
        const struct hs_dump_line line = {
            .function = hs_dump_builder__string(&making->builder, name, strlen(name)),
            .file = *frames[i].file ? hs_dump_builder__string(&making->builder, frames[i].file, strlen(frames[i].file))
                                    : NULL,
            .line = frames[i].line};
        if (!line.function || hs_dump_builder__add_line(&making->builder, added, &line))
            return HS_DUMP_NONE;
    }
    return added;
}

static int add_stack(void *context, const struct hs_fleet_stack *stack, const struct hs_value *in_use)
{
    struct slice_dump *making = context;
    const struct hs_dump_counts counts = {.live_bytes = in_use->bytes, .live_blocks = in_use->count};
    for (size_t i = 0, end; stack && i < stack->count; i = end) {
        for (end = i + 1; stack->frames[end - 1].inlined && end < stack->count;)
            end++;
        uint32_t location = location_of(making, &stack->frames[i], end - i);
        if (location == HS_DUMP_NONE || hs_dump_builder__add_frame(&making->builder, location))
            return -ENOMEM;
    }
    return hs_dump_builder__end_context(&making->builder, &counts);
}

static int start(struct slice_dump *making, const char *name)
{
    making->dump->format = HS_DUMP_COLLAPSED;
    making->dump->has_blocks = true;
    making->dump->executable = "";
    making->dump->strings = hs_strings__create();
    hs_dump_builder__start(&making->builder, making->dump);
    if (making->dump->strings)
        making->dump->name = hs_dump_builder__string(&making->builder, name, strlen(name));
    return making->dump->name ? 0 : -ENOMEM;
}

int hs_slice_dump__make(struct hs_database *database, const struct hs_fleet_slice *slice, bool per_device,
                        struct hs_dump **dump, struct hs_error *error)
{
    struct slice_dump making = {.dump = calloc(1, sizeof(*making.dump))};
    int failed = making.dump && !start(&making, hs_database__address(database))
                     ? hs_slice_stacks__each(database, slice, per_device, add_stack, &making, error)
                     : hs_error__set(error, ENOMEM, "out of memory");
    if (!failed && hs_dump_builder__finish(&making.builder))
        failed = hs_error__set(error, ENOMEM, "out of memory");
    hs_dump_builder__free(&making.builder);
    hs_id_map__free(&making.location_of);
    if (failed)
        hs_dump__close(making.dump);
    *dump = failed ? NULL : making.dump;
    return failed;
}

// ---- writing -------------------------------------------------------------------------------------------------------

// Single blocks are not in the database, and neither are addresses.
int hs_slice_dump__check_format(const char *word, struct hs_error *error)
{
    enum hs_dump_output output;
    char formats[512];
    const struct hs_export_format *format = hs_export_format__find(word);
    if (hs_dump_output__parse(word, &output) ? output == HS_DUMP_TO_PPROF || output == HS_DUMP_TO_SYMBOLIZED
                                             : format && !format->of_blocks)
        return 0;
    hs_export_formats__list_of_stacks(formats, sizeof(formats));
    return hs_error__set(error, EINVAL,
                         "%s needs single blocks or addresses, which a fleet does not have; give one of: "
                         "pprof symbolized %s",
                         word, formats);
}

static int write_sums(FILE *out, const struct hs_dump *dump, const struct hs_export_format *format, bool blocks)
{
    struct hs_dump_view view;
    const struct hs_symbols_options symbols = {0};
    const struct hs_export_options options = {.cost = HS_COST_LIVE, .blocks = blocks};
    int failed = hs_dump_view__open(&view, dump, NULL, &symbols);
    if (failed)
        return failed;
    failed = hs_dump_view__add_up(&view, NULL);
    if (!failed)
        failed = format->write(out, &view.subject, &options);
    hs_dump_view__close(&view);
    return failed;
}

int hs_slice_dump__write(FILE *out, const struct hs_dump *dump, const char *word, bool blocks)
{
    enum hs_dump_output output;
    return hs_dump_output__parse(word, &output) ? hs_dump__write(out, dump, output)
                                                : write_sums(out, dump, hs_export_format__find(word), blocks);
}
