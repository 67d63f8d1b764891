// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/export/stack_groups.h"

#include "host/base/array.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

// A stack on its way into the order: a cursor that moves outwards as far as others read the same.
struct stack_groups_entry {
    uint32_t total; // place in the totals
    uint32_t node, place;
    uint32_t frame; // number of the frame there + 1; 0: the stack has ended
};

// Entries that read the same up to their cursors, which are at that depth.
struct stack_groups_run {
    size_t first, count;
    uint32_t depth;
};

struct stack_groups_sorting {
    const struct hs_stack_table *table;
    struct stack_groups_entry *entry;
    uint32_t *shared; // by place in the order: frames in common with the entry before; SAME: all
    uint32_t most;
    uint64_t random;
    struct stack_groups_run *run; // to be sorted
    size_t runs, room;
};

#define SAME UINT32_MAX

// ---- cursors -------------------------------------------------------------------------------------------------------

static uint32_t frame_at(const struct hs_stack_table *table, uint32_t node, uint32_t place)
{
    uint32_t count;
    const uint32_t *number = hs_stack_table__node(table, node, &count);
    return place < count ? number[place] + 1 : 0;
}

// Reads the frame at the cursor, which may be behind the last one of its node.
static void read_frame(const struct hs_stack_table *table, struct stack_groups_entry *entry)
{
    entry->frame = frame_at(table, entry->node, entry->place);
    while (!entry->frame && (entry->node = hs_trace_symbols__parent(table->symbols, entry->node))) {
        entry->place = 0;
        entry->frame = frame_at(table, entry->node, 0);
    }
}

// Returns whether they may still differ: entries that meet at one node have the rest in common.
static bool move_run_outwards(const struct stack_groups_sorting *sorting, const struct stack_groups_run *run)
{
    struct stack_groups_entry *entry = sorting->entry + run->first;
    bool differ = false;
    if (!entry->frame)
        return false;
    for (size_t i = 0; i < run->count; i++) {
        entry[i].place++;
        read_frame(sorting->table, &entry[i]);
        differ = differ || entry[i].node != entry[0].node || entry[i].place != entry[0].place;
    }
    return differ;
}

// ---- the order -----------------------------------------------------------------------------------------------------

static uint32_t middle_of(uint32_t a, uint32_t b, uint32_t c)
{
    return a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
}

static void exchange(struct stack_groups_entry *a, struct stack_groups_entry *b)
{
    struct stack_groups_entry kept = *a;
    *a = *b;
    *b = kept;
}

static uint32_t some_frame(struct stack_groups_sorting *sorting, const struct stack_groups_run *run)
{
    sorting->random = sorting->random * 6364136223846793005u + 1442695040888963407u;
    return sorting->entry[run->first + (sorting->random >> 32) % run->count].frame;
}

// Parts a run into those before a frame of it, with it, and behind it; sets how many are in the first two. Which frame
// is left to chance: no order of the stacks makes it slow.
static void part(struct stack_groups_sorting *sorting, const struct stack_groups_run *run, size_t *before, size_t *with)
{
    const uint32_t frame = middle_of(some_frame(sorting, run), some_frame(sorting, run), some_frame(sorting, run));
    struct stack_groups_entry *entry = sorting->entry + run->first;
    size_t low = 0, high = run->count;
    for (size_t i = 0; i < high;) {
        if (entry[i].frame < frame)
            exchange(&entry[low++], &entry[i++]);
        else if (entry[i].frame > frame)
            exchange(&entry[--high], &entry[i]);
        else
            i++;
    }
    *before = low;
    *with = high - low;
}

static int push(struct stack_groups_sorting *sorting, struct stack_groups_run run)
{
    if (run.count < 2 || run.depth >= sorting->most)
        return 0;
    if (!HS_ARRAY_HAS_ROOM(sorting->run, sorting->runs, sorting->room))
        return -ENOMEM;
    sorting->run[sorting->runs++] = run;
    return 0;
}

// Quicksort by the frames at the run's depth; those with the same one go on with the next frame.
static int sort_run(struct stack_groups_sorting *sorting, struct stack_groups_run run)
{
    size_t before, with;
    part(sorting, &run, &before, &with);
    struct stack_groups_run equal = {run.first + before, with, run.depth};
    struct stack_groups_run behind = {equal.first + with, run.count - before - with, run.depth};
    if (before)
        sorting->shared[equal.first] = run.depth;
    if (behind.count)
        sorting->shared[behind.first] = run.depth;
    int result = push(sorting, (struct stack_groups_run){run.first, before, run.depth});
    if (!result)
        result = push(sorting, behind);
    equal.depth++;
    if (!result && with > 1 && equal.depth < sorting->most && move_run_outwards(sorting, &equal))
        result = push(sorting, equal);
    return result;
}

static int sort(struct stack_groups_sorting *sorting, size_t count)
{
    int result = push(sorting, (struct stack_groups_run){.count = count});
    while (!result && sorting->runs)
        result = sort_run(sorting, sorting->run[--sorting->runs]);
    free(sorting->run);
    return result;
}

// ---- groups --------------------------------------------------------------------------------------------------------

static void start(const struct stack_groups_sorting *sorting, const struct hs_subject *subject)
{
    for (size_t i = 0; i < subject->totals.count; i++) {
        struct stack_groups_entry *entry = &sorting->entry[i];
        *entry = (struct stack_groups_entry){.total = (uint32_t)i, .node = subject->totals.total[i].stack};
        sorting->shared[i] = SAME;
        read_frame(sorting->table, entry);
    }
    sorting->shared[0] = 0;
}

static int make_groups(struct hs_stack_groups *groups, const struct stack_groups_sorting *sorting,
                       const struct hs_subject *subject)
{
    const size_t count = subject->totals.count;
    size_t groups_there = 0;
    for (size_t i = 0; i < count; i++)
        groups_there += sorting->shared[i] != SAME;
    groups->group = calloc(groups_there + 1, sizeof(*groups->group));
    if (!groups->group)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        uint32_t total = sorting->entry[i].total, stack = subject->totals.total[total].stack;
        if (sorting->shared[i] != SAME)
            groups->group[groups->count++] = (struct hs_stack_group){stack, sorting->shared[i], (uint32_t)i};
        groups->totals[i] = total;
        if (stack < groups->stack_count)
            groups->of_stack[stack] = (uint32_t)groups->count - 1;
    }
    groups->group[groups->count].first = (uint32_t)count;
    return 0;
}

static int sort_and_group(struct hs_stack_groups *groups, struct stack_groups_sorting *sorting,
                          const struct hs_subject *subject)
{
    const size_t count = subject->totals.count;
    sorting->entry = malloc((count + 1) * sizeof(*sorting->entry));
    sorting->shared = malloc((count + 1) * sizeof(*sorting->shared));
    if (!sorting->entry || !sorting->shared)
        return -ENOMEM;
    start(sorting, subject);
    int result = sort(sorting, count);
    return result ? result : make_groups(groups, sorting, subject);
}

int hs_stack_groups__build(struct hs_stack_groups *groups, const struct hs_stack_table *table,
                           const struct hs_subject *subject, uint32_t most)
{
    struct stack_groups_sorting sorting = {.table = table, .most = most};
    *groups = (struct hs_stack_groups){.stack_count = table->node_count ? table->node_count : 1};
    groups->totals = calloc(subject->totals.count + 1, sizeof(*groups->totals));
    groups->of_stack = calloc(groups->stack_count, sizeof(*groups->of_stack));
    int result = groups->totals && groups->of_stack ? sort_and_group(groups, &sorting, subject) : -ENOMEM;
    free(sorting.entry);
    free(sorting.shared);
    if (result)
        hs_stack_groups__free(groups);
    return result;
}

void hs_stack_groups__free(struct hs_stack_groups *groups)
{
    free(groups->group);
    free(groups->totals);
    free(groups->of_stack);
    *groups = (struct hs_stack_groups){0};
}

void hs_frame__valgrind_text(char *text, size_t size, const struct hs_frame *frame)
{
    if (frame->file)
        snprintf(text, size, "0x%" PRIX64 ": %s (%s:%u)", frame->address, frame->function, frame->file, frame->line);
    else if (*frame->module)
        snprintf(text, size, "0x%" PRIX64 ": %s (in %s)", frame->address, frame->function, frame->module);
    else
        snprintf(text, size, "0x%" PRIX64 ": %s", frame->address, frame->function);
}
