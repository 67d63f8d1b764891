// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Buffers that are enlarged in steps so small that their content is copied again and again.
#include "host/findings/scene.h"

#include "host/filter/allocator.h"
#include "host/report/text.h"

#include <errno.h>
#include <stdlib.h>

#define LEAST_STEPS  8
#define LEAST_COPIED ((uint64_t)1 << 20)
#define MUCH_COPIED  ((uint64_t)64 << 20)
#define TIMES_COPIED 16 // of the last size; growing by a factor copies it a few times
#define MOST_STACKS  4096

// The buffers whose last block is from one stack.
struct growing_buffers {
    uint32_t stack;
    uint64_t buffers, steps, moves, copied, last;
};

struct stack_table {
    struct growing_buffers *at; // by hash; stack 0 is never looked up: entries without buffers are free
    size_t used;
};

static bool is_moved_by_mapping(const struct hs_store *store, uint64_t row, uint64_t next)
{
    return hs_allocator__of(store) == HS_ALLOCATOR_GLIBC && hs_allocator__is_mapped(store, row) &&
           hs_allocator__is_mapped(store, next);
}

// What is copied when the buffers of a chain move.
static void follow(const struct hs_store *store, const struct hs_chain *chain, uint64_t *moves, uint64_t *copied)
{
    const struct hs_columns *columns = hs_store__columns(store);
    uint32_t row = chain->first;
    for (uint32_t next = hs_row__next(columns, row), i = 1; next && i < chain->length;
         row = next, next = hs_row__next(columns, row), i++) {
        const uint64_t size = hs_row__size(columns, row), to = hs_row__size(columns, next);
        if (hs_row__address(columns, row) == hs_row__address(columns, next) || is_moved_by_mapping(store, row, next))
            continue;
        ++*moves;
        *copied += size < to ? size : to;
    }
}

static struct growing_buffers *entry_of(struct stack_table *table, uint32_t stack)
{
    size_t at = (stack * 0x9e3779b1u) % (2 * MOST_STACKS);
    while (table->at[at].buffers && table->at[at].stack != stack)
        at = (at + 1) % (2 * MOST_STACKS);
    if (!table->at[at].buffers && table->used == MOST_STACKS)
        return NULL;
    table->used += !table->at[at].buffers;
    table->at[at].stack = stack;
    return &table->at[at];
}

static void take_chain(struct hs_findings_scene *scene, struct stack_table *table, const struct hs_filter *filter,
                       const struct hs_chain *chain)
{
    uint64_t moves = 0, copied = 0;
    if (chain->length < LEAST_STEPS || chain->last_size <= chain->first_size ||
        !hs_filter__matches(filter, scene->store, chain->last))
        return;
    follow(scene->store, chain, &moves, &copied);
    if (copied / TIMES_COPIED < chain->last_size)
        return;
    struct growing_buffers *entry = entry_of(table, hs_row__stack(hs_store__columns(scene->store), chain->last));
    if (!entry)
        return;
    entry->buffers++;
    entry->steps += chain->length - 1;
    entry->moves += moves;
    entry->copied += copied;
    entry->last += chain->last_size;
}

static int add_buffers(struct hs_findings_scene *scene, const struct growing_buffers *buffers)
{
    if (buffers->copied < LEAST_COPIED)
        return 0;
    char *name = hs_findings_scene__name(scene, buffers->stack);
    struct hs_finding finding = {
        .confidence = buffers->copied >= MUCH_COPIED ? HS_CONFIDENCE_LIKELY : HS_CONFIDENCE_LOOK,
        .text = hs_finding__text("%s enlarged %s%s %s in small steps, which copied %s.", name ? name : "",
                                 buffers->buffers == 1 ? "a buffer" : hs_text__count(buffers->buffers).text,
                                 buffers->buffers == 1 ? "" : " buffers", hs_text__counted(buffers->steps, "time").text,
                                 hs_text__bytes(buffers->copied).text),
        .reason = hs_finding__text("The content moved to another address %s; at the end it was %s.",
                                   hs_text__counted(buffers->moves, "time").text, hs_text__bytes(buffers->last).text),
        .bytes = buffers->copied,
        .count = buffers->moves,
        .stack = buffers->stack,
        .query = hs_findings_scene__query(scene, buffers->stack, "chain_length_min=8"),
        .view = "stacks"};
    free(name);
    return hs_findings_scene__add(scene, finding);
}

static int compare(const void *left, const void *right)
{
    const struct growing_buffers *a = left, *b = right;
    if (a->copied != b->copied)
        return a->copied < b->copied ? 1 : -1;
    return (a->stack > b->stack) - (a->stack < b->stack);
}

int hs_find__reallocated(struct hs_findings_scene *scene)
{
    size_t count;
    const struct hs_chain *chain = hs_store__chains(scene->store, &count);
    const struct hs_filter filter = hs_findings_scene__filter(scene);
    struct stack_table table = {.at = calloc(2 * MOST_STACKS, sizeof(*table.at))};
    if (!table.at)
        return hs_error__set(scene->error, ENOMEM, "out of memory");
    for (size_t i = 1; i < count; i++)
        take_chain(scene, &table, &filter, &chain[i]);
    qsort(table.at, 2 * MOST_STACKS, sizeof(*table.at), compare);
    int result = 0;
    for (size_t i = 0; i < 10 && !result; i++)
        result = add_buffers(scene, &table.at[i]);
    free(table.at);
    return result;
}
