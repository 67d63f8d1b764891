// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The format of massif: snapshots of the heap's size over time, some with a tree of the call sites, one at the peak.
#include "host/export/export.h"
#include "host/export/stack_groups.h"
#include "host/query/events.h"
#include "host/report/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SNAPSHOTS     100
#define DETAILED      10 // every 10th snapshot has a tree
#define DEEPEST       30
#define LEAST_PERCENT 1

struct massif_writing {
    FILE *out;
    const struct hs_columns *columns;
    const struct hs_stack_table *table;
    const struct hs_stack_groups *groups;
    uint64_t *bytes; // by group: live
    uint64_t live, extra;
    uint64_t events;     // done
    uint64_t peak_event; // the one that reaches the peak
    uint64_t peak;
    uint64_t duration;
    unsigned snapshot; // written
    unsigned regular;  // of these, those that are not the peak's
};

// ---- the tree ------------------------------------------------------------------------------------------------------

struct massif_part {
    size_t first, end; // groups
    uint64_t bytes;
};

static int compare_parts(const void *left, const void *right)
{
    const struct massif_part *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return (a->first > b->first) - (a->first < b->first);
}

// The group's frame at `depth`; UINT32_MAX: it ends before.
static uint32_t frame_of(const struct massif_writing *writing, size_t group, uint32_t depth)
{
    uint32_t frame[DEEPEST];
    size_t count = hs_stack_table__stack(writing->table, writing->groups->group[group].stack, frame, DEEPEST);
    return depth < count ? frame[depth] : UINT32_MAX;
}

// Splits a run of groups, which share what is further in, by their frame at `depth`. A group that ends before it is the
// first of them, and belongs to none of the parts.
static size_t split(const struct massif_writing *writing, size_t first, size_t end, uint32_t depth,
                    struct massif_part *part)
{
    size_t count = 0;
    if (first < end && frame_of(writing, first, depth) == UINT32_MAX)
        first++;
    for (size_t i = first; i < end; i++) {
        if (i == first || writing->groups->group[i].shared <= depth)
            part[count++] = (struct massif_part){.first = i};
        part[count - 1].end = i + 1;
        part[count - 1].bytes += writing->bytes[i];
    }
    return count;
}

static int write_level(const struct massif_writing *writing, const struct massif_part *of, uint32_t depth,
                       const char *name)
{
    uint64_t least = writing->live * LEAST_PERCENT / 100;
    struct massif_part *part = calloc(of->end - of->first + 1, sizeof(*part));
    if (!part)
        return -ENOMEM;
    size_t count = depth < DEEPEST ? split(writing, of->first, of->end, depth, part) : 0;
    qsort(part, count, sizeof(*part), compare_parts);
    size_t shown = 0;
    while (shown < count && part[shown].bytes && part[shown].bytes >= least)
        shown++;
    struct massif_part rest = {0};
    size_t hidden = 0;
    for (size_t i = shown; i < count && part[i].bytes; i++, hidden++)
        rest.bytes += part[i].bytes;
    fprintf(writing->out, "%*sn%zu: %" PRIu64 " %s\n", (int)depth, "", shown + (hidden > 0), of->bytes, name);
    int result = 0;
    for (size_t i = 0; !result && i < shown; i++) {
        char text[4096];
        uint32_t frame = frame_of(writing, part[i].first, depth);
        hs_frame__valgrind_text(text, sizeof(text), writing->table->frame[frame]);
        text[strcspn(text, "\r\n")] = '\0';
        hs_text__clean(text);
        result = write_level(writing, &part[i], depth + 1, text);
    }
    if (hidden)
        fprintf(writing->out, "%*sn0: %" PRIu64 " in %zu place%s, %s below massif's threshold (%d.00%%)\n",
                (int)depth + 1, "", rest.bytes, hidden, hidden == 1 ? "" : "s", hidden == 1 ? "" : "all",
                LEAST_PERCENT);
    free(part);
    return result;
}

// ---- snapshots -----------------------------------------------------------------------------------------------------

static int write_snapshot(struct massif_writing *writing, uint64_t time, bool tree, bool peak)
{
    fprintf(writing->out,
            "#-----------\nsnapshot=%u\n#-----------\ntime=%" PRIu64 "\nmem_heap_B=%" PRIu64
            "\nmem_heap_extra_B=%" PRIu64 "\nmem_stacks_B=0\nheap_tree=%s\n",
            writing->snapshot++, time / 1000000, writing->live, writing->extra,
            peak   ? "peak"
            : tree ? "detailed"
                   : "empty");
    struct massif_part all = {0, writing->groups->count, writing->live};
    return tree ? write_level(writing, &all, 0, "(heap allocation functions) malloc/new/new[], --alloc-fns, etc.") : 0;
}

// Whole steps come to a little less than the end, which the last one is of.
static uint64_t time_of_next(const struct massif_writing *writing)
{
    return writing->regular + 1 < SNAPSHOTS ? writing->duration / (SNAPSHOTS - 1) * writing->regular
                                            : writing->duration;
}

// The snapshots up to `time`, without it.
static int write_until(struct massif_writing *writing, uint64_t time)
{
    int result = 0;
    while (!result && writing->regular < SNAPSHOTS) {
        uint64_t next = time_of_next(writing);
        if (next >= time)
            break;
        bool tree = writing->regular % DETAILED == DETAILED - 1;
        writing->regular++;
        result = write_snapshot(writing, next, tree && writing->live, false);
    }
    return result;
}

static void apply(struct massif_writing *writing, const struct hs_row_event *event)
{
    uint64_t size = hs_row__size(writing->columns, event->row);
    uint64_t extra = hs_row__slack(writing->columns, event->row);
    uint32_t group = hs_stack_groups__of(writing->groups, hs_row__stack(writing->columns, event->row));
    uint64_t sign = event->is_free ? UINT64_MAX : 1;
    writing->bytes[group] += sign * size;
    writing->live += sign * size;
    writing->extra += sign * extra;
    writing->events++;
}

static int find_peak(void *context, const struct hs_store *store, struct hs_row_event *event)
{
    struct massif_writing *writing = context;
    (void)store;
    apply(writing, event);
    if (writing->live > writing->peak) {
        writing->peak = writing->live;
        writing->peak_event = writing->events;
    }
    return 0;
}

static int write_event(void *context, const struct hs_store *store, struct hs_row_event *event)
{
    struct massif_writing *writing = context;
    (void)store;
    int result = write_until(writing, event->time);
    apply(writing, event);
    if (!result && writing->events == writing->peak_event)
        result = write_snapshot(writing, event->time, true, true);
    return result;
}

static int write_all(struct massif_writing *writing, const struct hs_subject *subject,
                     const struct hs_query_control *control)
{
    char command[4096];
    hs_command_line(subject->store, command, sizeof(command));
    fprintf(writing->out, "desc: heapsonde\ncmd: %s\ntime_unit: ms\n",
            *command ? command : hs_program_name(subject->store));
    int result = hs_query__events(subject->store, subject->filter, control, find_peak, writing, NULL);
    memset(writing->bytes, 0, writing->groups->count * sizeof(*writing->bytes));
    writing->live = writing->extra = writing->events = 0;
    if (!result)
        result = hs_query__events(subject->store, subject->filter, control, write_event, writing, NULL);
    return result ? result : write_until(writing, UINT64_MAX);
}

int hs_export__massif(FILE *out, const struct hs_subject *subject, const struct hs_export_options *options)
{
    struct hs_stack_table table;
    struct hs_stack_groups groups = {0};
    int result = hs_stack_table__build(&table, subject);
    if (result)
        return result;
    result = hs_stack_groups__build(&groups, &table, subject, DEEPEST);
    struct massif_writing writing = {.out = out,
                                     .columns = hs_store__columns(subject->store),
                                     .table = &table,
                                     .groups = &groups,
                                     .bytes = calloc(groups.count + 1, sizeof(uint64_t)),
                                     .duration = hs_store__summary(subject->store)->end_time};
    if (!result)
        result = writing.bytes ? write_all(&writing, subject, options->control) : -ENOMEM;
    free(writing.bytes);
    hs_stack_groups__free(&groups);
    hs_stack_table__free(&table);
    return result;
}
