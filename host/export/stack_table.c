// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/export/stack_table.h"

#include "host/base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct hs_frame no_stack = {.function = "[no stack]", .module = ""};

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static bool same(const struct hs_frame *a, const struct hs_frame *b)
{
    return a->function == b->function && a->line == b->line && a->inlined == b->inlined &&
           same_text(a->file, b->file) && same_text(a->module, b->module);
}

static uint64_t hash_of(const struct hs_frame *frame)
{
    uint64_t hash = (uint64_t)(uintptr_t)frame->function * 0x9e3779b97f4a7c15u;
    return (hash ^ (hash >> 29) ^ ((uint64_t)frame->line << 1 | frame->inlined)) * 0xbf58476d1ce4e5b9u;
}

static int add_frame(struct hs_stack_table *table, const struct hs_frame *frame, uint32_t *number)
{
    uint64_t hash = hash_of(frame);
    uint32_t found = hs_id_map__find(&table->known, hash);
    uint32_t chain = found == UINT32_MAX ? 0 : found + 1;
    for (uint32_t at = chain; at; at = table->next[at - 1]) {
        *number = at - 1;
        if (same(table->frame[at - 1], frame))
            return 0;
    }
    size_t room = table->frame_room;
    if (!HS_ARRAY_HAS_ROOM(table->frame, table->frame_count, table->frame_room) ||
        !HS_ARRAY_HAS_ROOM(table->next, table->frame_count, room))
        return -ENOMEM;
    *number = (uint32_t)table->frame_count++;
    table->frame[*number] = frame;
    table->next[*number] = chain;
    return hs_id_map__set(&table->known, hash, *number);
}

static int add_number(struct hs_stack_table *table, uint32_t number)
{
    if (!HS_ARRAY_HAS_ROOM(table->number, table->number_count, table->number_room))
        return -ENOMEM;
    table->number[table->number_count++] = number;
    return 0;
}

static int add_list(struct hs_stack_table *table, const struct hs_frames *frames)
{
    int result = add_number(table, frames->count);
    for (uint32_t i = 0; !result && i < frames->count; i++) {
        uint32_t number;
        result = add_frame(table, &frames->frame[i], &number);
        if (!result)
            result = add_number(table, number);
    }
    return result;
}

static int add_node(struct hs_stack_table *table, uint32_t node)
{
    const struct hs_frames *frames = hs_trace_symbols__node(table->symbols, node);
    uint32_t list = hs_id_map__find(&table->list_of, (uintptr_t)frames);
    if (list == UINT32_MAX) {
        list = (uint32_t)table->number_count;
        int result = add_list(table, frames);
        if (!result)
            result = hs_id_map__set(&table->list_of, (uintptr_t)frames, list);
        if (result)
            return result;
    }
    table->list[node] = list + 1;
    return 0;
}

int hs_stack_table__build(struct hs_stack_table *table, const struct hs_subject *subject)
{
    *table = (struct hs_stack_table){.symbols = subject->symbols};
    table->node_count = subject->symbols->node_count;
    table->list = calloc(table->node_count + 1, sizeof(*table->list));
    int result = table->list ? add_frame(table, &no_stack, &table->no_stack) : -ENOMEM;
    for (size_t i = 0; !result && i < subject->totals.count; i++) {
        uint32_t node = subject->totals.total[i].stack;
        while (!result && node && node < table->node_count && !table->list[node]) {
            result = add_node(table, node);
            node = hs_trace_symbols__parent(table->symbols, node);
        }
    }
    if (result)
        hs_stack_table__free(table);
    return result;
}

void hs_stack_table__free(struct hs_stack_table *table)
{
    hs_id_map__free(&table->known);
    hs_id_map__free(&table->list_of);
    free((void *)(uintptr_t)table->frame);
    free(table->list);
    free(table->number);
    free(table->next);
    *table = (struct hs_stack_table){0};
}

const uint32_t *hs_stack_table__node(const struct hs_stack_table *table, uint32_t node, uint32_t *count)
{
    if (!node || node >= table->node_count || !table->list[node]) {
        *count = 1;
        return &table->no_stack;
    }
    const uint32_t *list = &table->number[table->list[node] - 1];
    *count = list[0];
    return list + 1;
}

size_t hs_stack_table__stack(const struct hs_stack_table *table, uint32_t stack, uint32_t *to, size_t most)
{
    size_t total = 0;
    do {
        uint32_t count;
        const uint32_t *number = hs_stack_table__node(table, stack, &count);
        for (uint32_t i = 0; i < count; i++, total++) {
            if (total < most)
                to[total] = number[i];
        }
        stack = hs_trace_symbols__parent(table->symbols, stack);
    } while (stack);
    return total;
}

size_t hs_stack_table__whole(const struct hs_stack_table *table, uint32_t stack, struct hs_frame_numbers *to)
{
    size_t count = hs_stack_table__stack(table, stack, to->number, to->room);
    if (count <= to->room)
        return count;
    uint32_t *bigger = reallocarray(to->number, 2 * count, sizeof(*bigger));
    if (!bigger)
        return SIZE_MAX;
    to->number = bigger;
    to->room = 2 * count;
    return hs_stack_table__stack(table, stack, to->number, to->room);
}
