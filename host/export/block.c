// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/export/block.h"

#include "host/report/frames.h"

#include <errno.h>
#include <stdlib.h>

static const char *const kinds[] = {
    [HS_KIND_MALLOC] = "malloc",   [HS_KIND_CALLOC] = "calloc", [HS_KIND_ALIGNED] = "aligned",
    [HS_KIND_REALLOC] = "realloc", [HS_KIND_POOL] = "pool",     [HS_KIND_MMAP] = "mmap",
    [HS_KIND_MREMAP] = "mremap",   [HS_KIND_BRK] = "brk"};

struct block_walk {
    const struct hs_subject *subject;
    const struct hs_frame **site_of; // by stack
    size_t stacks;
    struct hs_touching *touching; // when it is asked for
    hs_export_block_visitor visit;
    void *context;
};

// ---- where it was --------------------------------------------------------------------------------------------------

static const struct hs_frame *site_of(struct block_walk *walk, uint32_t stack)
{
    static const struct hs_frame no_stack = {.function = "[no stack]", .module = ""};
    if (!stack || stack >= walk->stacks)
        return &no_stack;
    if (!walk->site_of[stack]) {
        const struct hs_frame *frame = NULL;
        uint32_t total;
        bool without_allocator = !hs_events__are_samples(walk->subject->events);
        uint32_t count = hs_frames__of_stack(walk->subject->symbols, stack, without_allocator, &frame, 1, &total);
        walk->site_of[stack] = count ? frame : &no_stack;
    }
    return walk->site_of[stack];
}

// ---- blocks --------------------------------------------------------------------------------------------------------

static int visit_row(void *context, const struct hs_store *store, uint64_t row)
{
    struct block_walk *walk = context;
    const struct hs_columns *columns = hs_store__columns(store);
    const struct hs_thread *thread = hs_store__thread(store, hs_row__stream(columns, row));
    uint8_t kind = hs_row__kind(columns, row);
    struct hs_export_block block = {.time = hs_row__time(columns, row),
                                    .free_time = hs_row__free_time(columns, row),
                                    .address = hs_row__address(columns, row),
                                    .size = hs_row__size(columns, row),
                                    .tid = thread ? thread->tid : 0,
                                    .thread = thread ? thread->name : "",
                                    .kind = kind < HS_KIND_COUNT ? kinds[kind] : "",
                                    .temporary = hs_row__flags(columns, row) & HS_ROW_TEMPORARY,
                                    .stack = hs_row__stack(columns, row)};
    block.usable = block.size + hs_row__slack(columns, row);
    uint64_t end = block.free_time == HS_NEVER ? hs_store__summary(store)->end_time : block.free_time;
    block.lifetime = end > block.time ? end - block.time : 0;
    block.touched = walk->touching ? hs_touching__bytes(walk->touching, row) : 0;
    block.site = site_of(walk, block.stack);
    return walk->visit(walk->context, &block);
}

static int visit_rows(struct block_walk *walk, const struct hs_query_control *control)
{
    const struct hs_subject *subject = walk->subject;
    bool asks_touched = hs_events__are_touched(subject->events);
    if (asks_touched)
        walk->touching = hs_touching__create(subject->store);
    if (asks_touched && !walk->touching)
        return -ENOMEM;
    int result = hs_query__each(subject->store, subject->filter, control, visit_row, walk, NULL);
    hs_touching__destroy(walk->touching);
    return result;
}

// ---- samples -------------------------------------------------------------------------------------------------------

static int visit_sample(struct block_walk *walk, const struct hs_sample_threads *threads,
                        const struct hs_sample *sample)
{
    const struct hs_thread *thread = hs_sample_threads__find(threads, sample->tid, sample->time);
    const struct hs_export_block block = {.time = sample->time,
                                          .free_time = HS_NEVER,
                                          .address = sample->address,
                                          .weight = sample->weight,
                                          .tid = sample->tid,
                                          .thread = thread ? thread->name : "",
                                          .kind = "",
                                          .stack = sample->stack,
                                          .site = site_of(walk, sample->stack)};
    return walk->visit(walk->context, &block);
}

static int visit_samples(struct block_walk *walk)
{
    const struct hs_subject *subject = walk->subject;
    struct hs_sample_threads threads;
    struct hs_sample_list list;
    int result = hs_query__samples(subject->store, subject->events, subject->filter, &list, NULL);
    if (result)
        return result;
    result = hs_sample_threads__make(&threads, subject->store);
    for (size_t i = 0; !result && i < list.count; i++)
        result = visit_sample(walk, &threads, list.sample[i]);
    hs_sample_threads__free(&threads);
    hs_sample_list__free(&list);
    return result;
}

int hs_export_blocks__each(const struct hs_subject *subject, const struct hs_query_control *control,
                           hs_export_block_visitor visit, void *context)
{
    struct block_walk walk = {.subject = subject, .visit = visit, .context = context};
    hs_store__nodes(subject->store, &walk.stacks);
    walk.site_of = calloc(walk.stacks + 1, sizeof(*walk.site_of));
    if (!walk.site_of)
        return -ENOMEM;
    int result = hs_events__are_samples(subject->events) ? visit_samples(&walk) : visit_rows(&walk, control);
    free(walk.site_of);
    return result;
}

// ---- columns -------------------------------------------------------------------------------------------------------

#define ENTRY(id, name, type, events) [HS_COLUMN_##id] = {name, HS_COLUMN_OF_##type, events},
const struct hs_export_column_kind hs_columns_of_blocks[HS_COLUMN_COUNT] = {HS_BLOCK_COLUMNS(ENTRY)};

uint64_t hs_export_block__number(const struct hs_export_block *block, enum hs_export_column column)
{
    switch (column) {
    case HS_COLUMN_TIME:
        return block->time;
    case HS_COLUMN_FREE_TIME:
        return block->free_time;
    case HS_COLUMN_LIFETIME:
        return block->lifetime;
    case HS_COLUMN_ADDRESS:
        return block->address;
    case HS_COLUMN_SIZE:
        return block->size;
    case HS_COLUMN_USABLE:
        return block->usable;
    case HS_COLUMN_TOUCHED:
        return block->touched;
    case HS_COLUMN_CPU:
    case HS_COLUMN_OFF_CPU:
    case HS_COLUMN_FAULTS:
        return block->weight;
    case HS_COLUMN_TEMPORARY:
        return block->temporary;
    case HS_COLUMN_THREAD:
        return block->tid;
    case HS_COLUMN_STACK:
        return block->stack;
    case HS_COLUMN_LINE:
        return block->site->line;
    default:
        return 0;
    }
}

const char *hs_export_block__text(const struct hs_export_block *block, enum hs_export_column column)
{
    switch (column) {
    case HS_COLUMN_KIND:
        return block->kind;
    case HS_COLUMN_THREAD_NAME:
        return block->thread;
    case HS_COLUMN_FUNCTION:
        return block->site->function;
    case HS_COLUMN_FILE:
        return block->site->file ? block->site->file : "";
    case HS_COLUMN_MODULE:
        return block->site->module;
    default:
        return "";
    }
}
