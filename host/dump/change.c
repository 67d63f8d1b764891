// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Dumps that are made from others: with names, restricted, from a trace.
#include "host/dump/builder.h"
#include "host/dump/write.h"
#include "host/symbols/strings.h"

#include <string.h>

// ---- names ---------------------------------------------------------------------------------------------------------

static int add_names(struct hs_dump_builder *builder, uint32_t location, const struct hs_frames *frames, bool offsets)
{
    for (uint32_t i = 0; i < frames->count; i++) {
        const struct hs_frame *frame = &frames->frame[i];
        bool offset = frame->kind == HS_FRAME_OFFSET;
        // Readers leave out the frames of an allocator by their names.
        bool allocator = offset && frame->role == HS_ROLE_ALLOCATOR;
        if (frame->kind == HS_FRAME_ADDRESS || (offset && !offsets && !allocator))
            continue;
        struct hs_dump_line line = {allocator ? "malloc" : frame->function, frame->file, frame->line};
        if (hs_dump_builder__add_line(builder, location, &line))
            return -ENOMEM;
    }
    return 0;
}

int hs_dump__add_names(struct hs_dump *dump, struct hs_dump_view *view, bool offsets)
{
    struct hs_dump_builder builder;
    hs_dump_builder__start(&builder, dump);
    builder.line_room = dump->line_count;
    int result = 0;
    for (uint32_t i = 0; !result && i < dump->location_count; i++) {
        if (dump->location[i].line_count)
            continue;
        const struct hs_frames *frames = hs_dump_view__location(view, 0, i);
        result = frames ? add_names(&builder, i, frames, offsets) : -ENOMEM;
    }
    hs_dump_builder__free(&builder);
    return result;
}

// ---- choices -------------------------------------------------------------------------------------------------------

static void keep_threads(struct hs_dump *dump, const uint8_t *threads)
{
    size_t kept = 0;
    for (size_t i = 0; i < dump->context_count; i++)
        dump->context[i].counts = (struct hs_dump_counts){0};
    for (size_t i = 0; i < dump->share_count; i++) {
        struct hs_dump_share share = dump->share[i];
        if (!threads[share.thread])
            continue;
        hs_dump_counts__add(&dump->context[share.context].counts, &share.counts);
        dump->share[kept++] = share;
    }
    dump->share_count = kept;
    for (size_t i = 0; i < dump->thread_count; i++) {
        if (!threads[i])
            dump->thread[i].counts = (struct hs_dump_counts){0};
    }
}

int hs_dump__keep(struct hs_dump *dump, const struct hs_dump_view *view, const struct hs_dump_choice *choice)
{
    if (!choice->threads && !choice->stacks)
        return 0;
    if (choice->threads)
        keep_threads(dump, choice->threads);
    for (size_t i = 0; choice->stacks && i < dump->context_count; i++) {
        if (!hs_set__has(choice->stacks, view->nodes[0][i]))
            dump->context[i].counts = (struct hs_dump_counts){0};
    }
    dump->text = NULL;
    dump->total = (struct hs_dump_counts){0};
    for (size_t i = 0; i < dump->context_count; i++)
        hs_dump_counts__add(&dump->total, &dump->context[i].counts);
    return 0;
}

// ---- traces --------------------------------------------------------------------------------------------------------

struct converting {
    struct hs_dump_builder builder;
    const struct hs_subject *subject;
    uint32_t *location;         // by node, + 1
    struct hs_id_map by_frames; // a location with the lines that its frames have, by their address
    unsigned call_length;
};

static int add_mappings(struct converting *with)
{
    size_t count = 0;
    const struct hs_module *modules = hs_store__modules(with->subject->store, &count);
    for (size_t i = 0; i < count; i++) {
        struct hs_dump_mapping mapping = {.start = modules[i].start,
                                          .end = modules[i].end,
                                          .path = modules[i].path,
                                          .build_id = modules[i].build_id,
                                          .build_id_length = modules[i].build_id_length,
                                          .executable = true};
        if (hs_dump_builder__add_mapping(&with->builder, &mapping))
            return -ENOMEM;
    }
    return 0;
}

// Nodes of the same frames have their lines in common.
static int add_lines(struct converting *with, uint32_t location, const struct hs_frames *frames, bool cut)
{
    struct hs_dump *dump = with->builder.dump;
    const uint32_t like = hs_id_map__find(&with->by_frames, (uintptr_t)frames);
    if (like != UINT32_MAX) {
        dump->location[location].first_line = dump->location[like].first_line;
        dump->location[location].line_count = dump->location[like].line_count;
        return 0;
    }
    const struct hs_dump_line line = {.function = frames->frame[0].function};
    int result = cut ? hs_dump_builder__add_line(&with->builder, location, &line)
                     : add_names(&with->builder, location, frames, false);
    return result ? result : hs_id_map__set(&with->by_frames, (uintptr_t)frames, location);
}

// If modules are loaded and unloaded, an address is not unique, so a node is a location.
static uint32_t add_location(struct converting *with, uint32_t node, uint64_t address)
{
    struct hs_trace_symbols *symbols = with->subject->symbols;
    int module = hs_trace_symbols__module(symbols, node);
    struct hs_dump_location location = {.address = address - with->call_length,
                                        .has_address = !hs_trace_symbols__is_cut(symbols, node),
                                        .mapping = module < 0 ? HS_DUMP_NONE : (uint32_t)module};
    uint32_t added = hs_dump_builder__add_location(&with->builder, &location);
    if (added == HS_DUMP_NONE || add_lines(with, added, hs_trace_symbols__node(symbols, node), !location.has_address))
        return HS_DUMP_NONE;
    with->location[node] = added + 1;
    return added;
}

// The callers of a known location are known, too.
static int add_total(struct converting *with, const struct hs_node *nodes, size_t node_count,
                     const struct hs_total *total)
{
    struct hs_dump_counts counts = {total->live_count, total->live_bytes, total->allocated_count,
                                    total->allocated_bytes};
    uint32_t innermost = HS_DUMP_NONE, node = total->stack;
    uint32_t *called_from = &innermost;
    while (node && node < node_count && !with->location[node]) {
        uint32_t added = add_location(with, node, nodes[node].pc);
        if (added == HS_DUMP_NONE)
            return -ENOMEM;
        *called_from = added;
        called_from = &with->builder.dump->caller[added];
        node = hs_trace_symbols__parent(with->subject->symbols, node);
    }
    *called_from = node && node < node_count ? with->location[node] - 1 : HS_DUMP_NONE;
    return hs_dump_builder__add_context(&with->builder, innermost, &counts);
}

static int convert(struct converting *with, struct hs_dump *dump)
{
    size_t node_count = 0;
    const struct hs_totals *totals = &with->subject->totals;
    const struct hs_node *nodes = hs_store__nodes(with->subject->store, &node_count);
    with->location = calloc(node_count + 1, sizeof(*with->location));
    dump->caller = malloc((node_count + 1) * sizeof(*dump->caller));
    dump->strings = hs_strings__create();
    if (!with->location || !dump->caller || !dump->strings || add_mappings(with))
        return -ENOMEM;
    dump->format = HS_DUMP_TRACE;
    dump->name = with->subject->path;
    dump->executable = hs_program_name(with->subject->store);
    dump->has_all = dump->has_blocks = true;
    dump->events = with->subject->events;
    // Every sample stands for the same.
    if (hs_events__are_samples(dump->events) && totals->sum.allocated_count)
        dump->period = totals->sum.allocated_bytes / totals->sum.allocated_count;
    dump->time_ns = hs_store__realtime_ns(with->subject->store, 0);
    dump->duration_ns = hs_store__summary(with->subject->store)->end_time;
    for (size_t i = 0; i < totals->count; i++) {
        if (add_total(with, nodes, node_count, &totals->total[i]))
            return -ENOMEM;
    }
    const char *arch = hs_arch_name(hs_store__summary(with->subject->store));
    if (hs_dump_builder__add_fact(&with->builder, "arch", 4, arch, strlen(arch)))
        return -ENOMEM;
    return hs_dump_builder__finish(&with->builder);
}

int hs_dump__of_trace(const struct hs_subject *subject, struct hs_dump **result)
{
    struct hs_dump *dump = calloc(1, sizeof(*dump));
    struct converting with = {.subject = subject,
                              .call_length = hs_call_length(hs_store__summary(subject->store)->machine)};
    *result = NULL;
    if (!dump)
        return -ENOMEM;
    hs_dump_builder__start(&with.builder, dump);
    int failed = convert(&with, dump);
    hs_dump_builder__free(&with.builder);
    hs_id_map__free(&with.by_frames);
    free(with.location);
    if (failed)
        hs_dump__close(dump);
    else
        *result = dump;
    return failed;
}
