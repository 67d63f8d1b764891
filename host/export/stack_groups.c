// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/export/stack_groups.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

struct entry {
    uint64_t offset; // of its frames
    uint32_t count, stack;
};

struct sorting {
    const uint32_t *frames;
};

static int compare(const void *left, const void *right, void *context)
{
    const struct entry *a = left, *b = right;
    const struct sorting *sorting = context;
    uint32_t shorter = a->count < b->count ? a->count : b->count;
    for (uint32_t i = 0; i < shorter; i++) {
        uint32_t x = sorting->frames[a->offset + i], y = sorting->frames[b->offset + i];
        if (x != y)
            return x < y ? -1 : 1;
    }
    return (a->count > b->count) - (a->count < b->count);
}

// Returns the number of frames that all stacks have together.
static uint64_t measure(const struct hs_stack_table *table, const struct hs_subject *subject, uint32_t most,
                        struct entry *entry)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < subject->totals.count; i++) {
        uint32_t stack = subject->totals.total[i].stack;
        size_t count = hs_stack_table__stack(table, stack, NULL, 0);
        entry[i] = (struct entry){sum, count < most ? (uint32_t)count : most, stack};
        sum += entry[i].count;
    }
    return sum;
}

static void make_groups(struct hs_stack_groups *groups, const struct entry *entry, size_t count,
                        struct sorting *sorting)
{
    for (size_t i = 0; i < count; i++) {
        if (!i || compare(&entry[i - 1], &entry[i], sorting))
            groups->group[groups->count++] = (struct hs_stack_group){groups->frames + entry[i].offset, entry[i].count};
        if (entry[i].stack < groups->stack_count)
            groups->of_stack[entry[i].stack] = (uint32_t)groups->count - 1;
    }
}

int hs_stack_groups__build(struct hs_stack_groups *groups, const struct hs_stack_table *table,
                           const struct hs_subject *subject, uint32_t most)
{
    size_t count = subject->totals.count;
    *groups = (struct hs_stack_groups){.stack_count = table->node_count ? table->node_count : 1};
    struct entry *entry = calloc(count + 1, sizeof(*entry));
    uint64_t frames = entry ? measure(table, subject, most, entry) : 0;
    groups->group = calloc(count + 1, sizeof(*groups->group));
    groups->of_stack = calloc(groups->stack_count, sizeof(*groups->of_stack));
    groups->frames = calloc(frames + 1, sizeof(*groups->frames));
    if (!entry || !groups->group || !groups->of_stack || !groups->frames) {
        free(entry);
        hs_stack_groups__free(groups);
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++)
        hs_stack_table__stack(table, entry[i].stack, groups->frames + entry[i].offset, entry[i].count);
    struct sorting sorting = {groups->frames};
    qsort_r(entry, count, sizeof(*entry), compare, &sorting);
    make_groups(groups, entry, count, &sorting);
    free(entry);
    return 0;
}

void hs_stack_groups__free(struct hs_stack_groups *groups)
{
    free(groups->group);
    free(groups->of_stack);
    free(groups->frames);
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
