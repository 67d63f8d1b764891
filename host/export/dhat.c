// SPDX-License-Identifier: MIT OR Apache-2.0
//
// DHAT's own JSON, file version 2. A program point is a group of stacks: what was allocated there, how long it lived,
// and how much of it was there at its own largest, at the heap's peak and at the end.
#include "host/base/json.h"
#include "host/export/export.h"
#include "host/export/stack_groups.h"
#include "host/query/events.h"

#include <errno.h>
#include <stdlib.h>

#define SHORT_LIFETIME 1000 // ns: what dh_view calls short-lived

struct point {
    uint64_t unfreed_lifetimes;
    uint64_t bytes, blocks; // while events go by
    uint64_t most_bytes, most_blocks;
};

struct measuring {
    const struct hs_columns *columns;
    const struct hs_stack_groups *groups;
    struct point *point;
    uint64_t end;
};

static int measure(void *context, const struct hs_store *store, struct hs_row_event *event)
{
    struct measuring *with = context;
    (void)store;
    struct point *point = &with->point[hs_stack_groups__of(with->groups, hs_row__stack(with->columns, event->row))];
    uint64_t size = hs_row__size(with->columns, event->row);
    if (event->is_free) {
        point->bytes -= size;
        point->blocks--;
        return 0;
    }
    point->bytes += size;
    point->blocks++;
    if (point->bytes > point->most_bytes || (point->bytes == point->most_bytes && point->blocks > point->most_blocks)) {
        point->most_bytes = point->bytes;
        point->most_blocks = point->blocks;
    }
    if (hs_row__free_time(with->columns, event->row) == HS_NEVER)
        point->unfreed_lifetimes = hs_lifetimes__add(point->unfreed_lifetimes, with->end - event->time);
    return 0;
}

static struct hs_total add_up(const struct hs_stack_groups *groups, const struct hs_stack_group *group,
                              const struct hs_subject *subject)
{
    struct hs_total sum = {0};
    for (size_t i = group[0].first; i < group[1].first; i++) {
        const struct hs_total *total = &subject->totals.total[groups->totals[i]];
        sum.allocated_bytes += total->allocated_bytes;
        sum.allocated_count += total->allocated_count;
        sum.peak_bytes += total->peak_bytes;
        sum.peak_count += total->peak_count;
        sum.live_bytes += total->live_bytes;
        sum.live_count += total->live_count;
        sum.lifetime_sum = hs_lifetimes__add(sum.lifetime_sum, total->lifetime_sum);
    }
    return sum;
}

static void write_point(struct hs_json *json, const struct point *point, const struct hs_total *sum,
                        const uint32_t *frame, size_t frames)
{
    hs_json__open_object(json, NULL);
    hs_json__number(json, "tb", sum->allocated_bytes);
    hs_json__number(json, "tbk", sum->allocated_count);
    hs_json__number(json, "tl", hs_lifetimes__add(sum->lifetime_sum, point->unfreed_lifetimes));
    hs_json__number(json, "mb", point->most_bytes);
    hs_json__number(json, "mbk", point->most_blocks);
    hs_json__number(json, "gb", sum->peak_bytes);
    hs_json__number(json, "gbk", sum->peak_count);
    hs_json__number(json, "eb", sum->live_bytes);
    hs_json__number(json, "ebk", sum->live_count);
    hs_json__open_array(json, "fs");
    for (size_t i = 0; i < frames; i++)
        hs_json__number(json, NULL, frame[i] + 1);
    hs_json__close_array(json);
    hs_json__close_object(json);
}

static int write_points(struct hs_json *json, const struct hs_subject *subject, const struct hs_stack_table *table,
                        const struct hs_stack_groups *groups, const struct point *point)
{
    struct hs_frame_numbers frames = {NULL, 0};
    int result = 0;
    hs_json__open_array(json, "pps");
    for (size_t i = 0; !result && i < groups->count; i++) {
        struct hs_total sum = add_up(groups, &groups->group[i], subject);
        size_t count = hs_stack_table__whole(table, groups->group[i].stack, &frames);
        result = count == SIZE_MAX ? -ENOMEM : 0;
        if (!result)
            write_point(json, &point[i], &sum, frames.number, count);
    }
    hs_json__close_array(json);
    free(frames.number);
    return result;
}

static void write_frames(struct hs_json *json, const struct hs_stack_table *table)
{
    char text[4096];
    hs_json__open_array(json, "ftbl");
    hs_json__string(json, NULL, "[root]");
    for (size_t i = 0; i < table->frame_count; i++) {
        hs_frame__valgrind_text(text, sizeof(text), table->frame[i]);
        hs_json__string(json, NULL, text);
    }
    hs_json__close_array(json);
}

static void write_head(struct hs_json *json, const struct hs_subject *subject)
{
    const struct hs_summary *summary = hs_store__summary(subject->store);
    char command[4096];
    hs_command_line(subject->store, command, sizeof(command));
    hs_json__number(json, "dhatFileVersion", 2);
    hs_json__string(json, "mode", "heap");
    hs_json__string(json, "verb", "Allocated");
    hs_json__boolean(json, "bklt", true);
    hs_json__boolean(json, "bkacc", false);
    hs_json__string(json, "tu", "ns");
    hs_json__string(json, "Mtu", "ms");
    hs_json__number(json, "tuth", SHORT_LIFETIME);
    hs_json__string(json, "cmd", *command ? command : hs_program_name(subject->store));
    hs_json__number(json, "pid", summary->pid);
    hs_json__number(json, "te", summary->end_time);
    hs_json__number(json, "tg", summary->peak_time);
}

static int write_file(FILE *out, const struct hs_subject *subject, const struct hs_stack_table *table,
                      const struct hs_stack_groups *groups, const struct point *point)
{
    struct hs_json json;
    hs_json__start(&json, out, true);
    hs_json__open_object(&json, NULL);
    write_head(&json, subject);
    int result = write_points(&json, subject, table, groups, point);
    write_frames(&json, table);
    hs_json__close_object(&json);
    return result;
}

int hs_export__dhat(FILE *out, const struct hs_subject *subject, const struct hs_export_options *options)
{
    struct hs_stack_table table;
    struct hs_stack_groups groups = {0};
    int result = hs_stack_table__build(&table, subject);
    if (result)
        return result;
    result = hs_stack_groups__build(&groups, &table, subject, UINT32_MAX);
    struct point *point = calloc(groups.count + 1, sizeof(*point));
    if (!result && !point)
        result = -ENOMEM;
    if (!result) {
        struct measuring with = {hs_store__columns(subject->store), &groups, point,
                                 hs_store__summary(subject->store)->end_time};
        result = hs_query__events(subject->store, subject->filter, options->control, measure, &with, NULL);
    }
    if (!result)
        result = write_file(out, subject, &table, &groups, point);
    free(point);
    hs_stack_groups__free(&groups);
    hs_stack_table__free(&table);
    return result;
}
