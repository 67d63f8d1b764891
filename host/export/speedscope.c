// SPDX-License-Identifier: MIT OR Apache-2.0
//
// One sampled profile for each cost, in bytes and in blocks; the one that was asked for is shown first.
#include "host/base/json.h"
#include "host/export/export.h"
#include "host/export/stack_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct profile {
    enum hs_cost cost;
    bool blocks;
};

static uint64_t weight_of(const struct hs_total *total, struct profile profile)
{
    return profile.blocks ? hs_cost__blocks(total, profile.cost) : hs_cost__bytes(total, profile.cost);
}

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
                         struct profile profile)
{
    struct hs_frame_numbers frames = {NULL, 0};
    int result = 0;
    hs_json__open_array(json, "samples");
    for (size_t i = 0; !result && i < subject->totals.count; i++) {
        const struct hs_total *total = &subject->totals.total[i];
        if (!weight_of(total, profile))
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

static void write_weights(struct hs_json *json, const struct hs_subject *subject, struct profile profile)
{
    hs_json__open_array(json, "weights");
    for (size_t i = 0; i < subject->totals.count; i++) {
        uint64_t weight = weight_of(&subject->totals.total[i], profile);
        if (weight)
            hs_json__number(json, NULL, weight);
    }
    hs_json__close_array(json);
}

// "bytes live at the end", "CPU time", "samples of CPU time".
static void name_profile(const struct hs_subject *subject, struct profile profile, char *name, size_t size)
{
    const struct hs_events_kind *events = hs_subject__events(subject);
    char heading[96];
    hs_subject__heading(subject, profile.cost, heading, sizeof(heading));
    if (subject->events == HS_EVENTS_HEAP)
        snprintf(name, size, "%s %s", profile.blocks ? "blocks" : "bytes", hs_subject__title(subject, profile.cost));
    else
        snprintf(name, size, "%s%s%s", profile.blocks ? events->thing : "", profile.blocks ? " of " : "", heading);
}

// The names in its schema.
static const char *unit_of(const struct hs_subject *subject, struct profile profile)
{
    const char *unit = hs_subject__events(subject)->unit;
    return profile.blocks || !strcmp(unit, "count") ? "none" : unit;
}

static int write_profile(struct hs_json *json, const struct hs_subject *subject, const struct hs_stack_table *table,
                         struct profile profile)
{
    char name[128];
    name_profile(subject, profile, name, sizeof(name));
    hs_json__open_object(json, NULL);
    hs_json__string(json, "type", "sampled");
    hs_json__string(json, "name", name);
    hs_json__string(json, "unit", unit_of(subject, profile));
    hs_json__number(json, "startValue", 0);
    hs_json__number(json, "endValue", weight_of(&subject->totals.sum, profile));
    int result = write_samples(json, subject, table, profile);
    write_weights(json, subject, profile);
    hs_json__close_object(json);
    return result;
}

static size_t list_profiles(const struct hs_subject *subject, struct profile *profile)
{
    static const enum hs_cost order[] = {HS_COST_PEAK, HS_COST_LIVE, HS_COST_ALLOCATED, HS_COST_TEMPORARY};
    size_t count = 0;
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        if (!hs_subject__knows(subject, order[i]))
            continue;
        profile[count++] = (struct profile){order[i], false};
        if (hs_subject__counts_blocks(subject))
            profile[count++] = (struct profile){order[i], true};
    }
    return count;
}

int hs_export__speedscope(FILE *out, const struct hs_subject *subject, const struct hs_export_options *options)
{
    struct hs_json json;
    struct hs_stack_table table;
    struct profile profile[2 * HS_COST_COUNT];
    size_t count = list_profiles(subject, profile);
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
