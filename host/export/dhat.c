// SPDX-License-Identifier: MIT OR Apache-2.0
//
// DHAT's own JSON, file version 2. A program point is a group of stacks: what was allocated there, how long it lived,
// and how much of it was there at its own largest, at the heap's peak and at the end.
#include "host/export/export.h"
#include "host/export/stack_groups.h"
#include "host/query/events.h"
#include "host/report/json.h"

#include <errno.h>
#include <stdlib.h>

#define SHORT_LIFETIME 1000 // ns: what dh_view calls short-lived

struct point {
    struct hs_total sum;
    uint64_t lifetimes;
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
        point->lifetimes = hs_lifetimes__add(point->lifetimes, with->end - event->time);
    return 0;
}

static void add_totals(struct point *points, const struct hs_stack_groups *groups, const struct hs_subject *subject)
{
    for (size_t i = 0; i < subject->totals.count; i++) {
        const struct hs_total *total = &subject->totals.total[i];
        struct point *point = &points[hs_stack_groups__of(groups, total->stack)];
        point->sum.allocated_bytes += total->allocated_bytes;
        point->sum.allocated_count += total->allocated_count;
        point->sum.peak_bytes += total->peak_bytes;
        point->sum.peak_count += total->peak_count;
        point->sum.live_bytes += total->live_bytes;
        point->sum.live_count += total->live_count;
        point->lifetimes = hs_lifetimes__add(point->lifetimes, total->lifetime_sum);
    }
}

static void write_point(struct hs_json *json, const struct point *point, const struct hs_stack_group *group)
{
    hs_json__open_object(json, NULL);
    hs_json__number(json, "tb", point->sum.allocated_bytes);
    hs_json__number(json, "tbk", point->sum.allocated_count);
    hs_json__number(json, "tl", point->lifetimes);
    hs_json__number(json, "mb", point->most_bytes);
    hs_json__number(json, "mbk", point->most_blocks);
    hs_json__number(json, "gb", point->sum.peak_bytes);
    hs_json__number(json, "gbk", point->sum.peak_count);
    hs_json__number(json, "eb", point->sum.live_bytes);
    hs_json__number(json, "ebk", point->sum.live_count);
    hs_json__open_array(json, "fs");
    for (uint32_t i = 0; i < group->count; i++)
        hs_json__number(json, NULL, group->frame[i] + 1);
    hs_json__close_array(json);
    hs_json__close_object(json);
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

static void write_file(FILE *out, const struct hs_subject *subject, const struct hs_stack_table *table,
                       const struct hs_stack_groups *groups, const struct point *point)
{
    struct hs_json json;
    hs_json__start(&json, out, true);
    hs_json__open_object(&json, NULL);
    write_head(&json, subject);
    hs_json__open_array(&json, "pps");
    for (size_t i = 0; i < groups->count; i++)
        write_point(&json, &point[i], &groups->group[i]);
    hs_json__close_array(&json);
    write_frames(&json, table);
    hs_json__close_object(&json);
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
        add_totals(point, &groups, subject);
        result = hs_query__events(subject->store, subject->filter, options->control, measure, &with, NULL);
    }
    if (!result)
        write_file(out, subject, &table, &groups, point);
    free(point);
    hs_stack_groups__free(&groups);
    hs_stack_table__free(&table);
    return result;
}
