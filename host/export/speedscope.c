// SPDX-License-Identifier: MIT OR Apache-2.0
//
// One sampled profile for each cost, in bytes and in blocks; the one that was asked for is shown first.
#include "host/base/json.h"
#include "host/export/export.h"
#include "host/export/measure.h"
#include "host/export/stack_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void write_frames(struct hs_json *json, const struct hs_stack_table *table)
{
    hs_json__open_object(json, "shared");
    hs_json__open_array(json, "frames");
    for (size_t i = 0; i < table->frame_count; i++) {
        const struct hs_frame *frame = table->frame[i];
        hs_json__open_object(json, NULL);
        hs_json__string(json, "name", frame->function);
        if (frame->file)
            hs_json__string(json, "file", frame->file);
        else if (*frame->module)
            hs_json__string(json, "file", frame->module);
        if (frame->line)
            hs_json__number(json, "line", frame->line);
        hs_json__close_object(json);
    }
    hs_json__close_array(json);
    hs_json__close_object(json);
}

static int write_samples(struct hs_json *json, const struct hs_subject *subject, const struct hs_stack_table *table,
                         struct hs_measure profile)
{
    struct hs_frame_numbers frames = {NULL, 0};
    int result = 0;
    hs_json__open_array(json, "samples");
    for (size_t i = 0; !result && i < subject->totals.count; i++) {
        const struct hs_total *total = &subject->totals.total[i];
        if (!hs_measure__of(total, profile))
            continue;
        size_t count = hs_stack_table__whole(table, total->stack, &frames);
        result = count == SIZE_MAX ? -ENOMEM : 0;
        hs_json__open_array(json, NULL);
        while (!result && count--)
            hs_json__number(json, NULL, frames.number[count]);
        hs_json__close_array(json);
    }
    hs_json__close_array(json);
    free(frames.number);
    return result;
}

static void write_weights(struct hs_json *json, const struct hs_subject *subject, struct hs_measure profile)
{
    hs_json__open_array(json, "weights");
    for (size_t i = 0; i < subject->totals.count; i++) {
        uint64_t weight = hs_measure__of(&subject->totals.total[i], profile);
        if (weight)
            hs_json__number(json, NULL, weight);
    }
    hs_json__close_array(json);
}

// The names in its schema.
static const char *unit_of(const struct hs_subject *subject, struct hs_measure profile)
{
    const char *unit = hs_subject__events(subject)->unit;
    return profile.blocks || !strcmp(unit, "count") ? "none" : unit;
}

static int write_profile(struct hs_json *json, const struct hs_subject *subject, const struct hs_stack_table *table,
                         struct hs_measure profile)
{
    char name[128];
    hs_measure__title(subject, profile, name, sizeof(name));
    hs_json__open_object(json, NULL);
    hs_json__string(json, "type", "sampled");
    hs_json__string(json, "name", name);
    hs_json__string(json, "unit", unit_of(subject, profile));
    hs_json__number(json, "startValue", 0);
    hs_json__number(json, "endValue", hs_measure__of(&subject->totals.sum, profile));
    int result = write_samples(json, subject, table, profile);
    write_weights(json, subject, profile);
    hs_json__close_object(json);
    return result;
}

int hs_export__speedscope(FILE *out, const struct hs_subject *subject, const struct hs_export_options *options)
{
    struct hs_json json;
    struct hs_stack_table table;
    struct hs_measure profile[HS_MEASURES_MOST];
    size_t count = hs_measures__list(subject, profile);
    int result = hs_stack_table__build(&table, subject);
    if (result)
        return result;
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    hs_json__string(&json, "$schema", "https://www.speedscope.app/file-format-schema.json");
    hs_json__string(&json, "exporter", "heapsonde");
    hs_json__string(&json, "name", hs_program_name(subject->store));
    for (size_t i = 0; i < count; i++) {
        if (profile[i].cost == options->cost && profile[i].blocks == options->blocks)
            hs_json__number(&json, "activeProfileIndex", i);
    }
    write_frames(&json, &table);
    hs_json__open_array(&json, "profiles");
    for (size_t i = 0; !result && i < count; i++)
        result = write_profile(&json, subject, &table, profile[i]);
    hs_json__close_array(&json);
    hs_json__close_object(&json);
    hs_stack_table__free(&table);
    return result;
}
