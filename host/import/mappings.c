// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The map domain: live mappings as ranges by address. An unmap may end several, or leave parts of them, which become
// rows of their own.
#include "host/import/builder.h"

#include <errno.h>
#include <sys/mman.h>

static uint64_t range_end(const struct hs_builder *builder, uint64_t start, uint64_t length)
{
    uint64_t page = builder->page_size, end;
    if (__builtin_add_overflow(start, length, &end) || __builtin_add_overflow(end, page - 1, &end))
        return UINT64_MAX & ~(page - 1);
    return end & ~(page - 1);
}

static void count_peak(struct hs_builder *builder)
{
    if (builder->map_total.bytes <= builder->summary->map_peak.bytes)
        return;
    builder->summary->map_peak = builder->map_total;
    builder->summary->map_peak_time = builder->now;
}

// Adds a live mapping; the range is free of others. Returns the row or a negative errno.
static int64_t add_mapping(struct hs_builder *builder, const struct hs_new_row *row, uint64_t end)
{
    const struct hs_allowed_size allowed = hs_builder__allow(&builder->map_allowance, row->size, row->usable);
    struct hs_new_row added_row = *row;
    added_row.size = allowed.size;
    added_row.usable = allowed.usable;
    int64_t number = hs_builder__add_row(builder, &added_row);
    if (number < 0)
        return number;
    builder->map_total.bytes += allowed.size;
    builder->map_total.usable += allowed.usable;
    builder->map_total.count++;
    const struct hs_live_mapping added = {.start = row->address,
                                          .end = end,
                                          .row = (uint32_t)number,
                                          .stack = row->stack,
                                          .stream = row->stream,
                                          .detail = row->detail,
                                          .kind = row->kind};
    int failed = hs_live_ranges__add(&builder->maps, &added);
    return failed ? failed : number;
}

static int64_t add_rest(struct hs_builder *builder, const struct hs_live_mapping *of, uint64_t start, uint64_t end)
{
    const struct hs_new_row rest = {.address = start,
                                    .size = end - start,
                                    .usable = end - start,
                                    .stack = of->stack,
                                    .stream = of->stream,
                                    .detail = of->detail,
                                    .kind = of->kind};
    int64_t number = add_mapping(builder, &rest, end);
    if (number >= 0)
        hs_row_ends__add_to_state(&builder->row_ends, (uint64_t)number, HS_ROW_SPLIT << 3);
    return number;
}

// Ends what is mapped in [start, end). Returns how many rows ended or a negative errno; *first_ended (may be NULL) is
// the first of them.
static int64_t unmap(struct hs_builder *builder, uint32_t stream, uint32_t stack, uint64_t start, uint64_t end,
                     uint8_t flags, struct hs_live_mapping *first_ended)
{
    const struct hs_range_place first = hs_live_ranges__behind(&builder->maps, start);
    const struct hs_live_mapping *at;
    struct hs_live_mapping left = {0}, right = {0};
    int64_t ended = 0;
    for (struct hs_range_place place = first; (at = hs_live_ranges__at(&builder->maps, place)) && at->start < end;
         place = hs_live_ranges__next(&builder->maps, place)) {
        if (at->start < start)
            left = *at;
        if (at->end > end)
            right = *at;
        if (first_ended && !ended)
            *first_ended = *at;
        hs_builder__end_mapping(builder, at->row, stream, stack, flags);
        ended++;
    }
    if (!ended)
        return 0;
    hs_live_ranges__remove(&builder->maps, first, end);
    int64_t result = left.end ? add_rest(builder, &left, left.start, start) : 0;
    if (result >= 0 && right.end)
        result = add_rest(builder, &right, end, right.end);
    return result < 0 ? result : ended;
}

static int map(struct hs_builder *builder, uint32_t stream, const struct hs_event *event, uint32_t stack)
{
    uint64_t end = range_end(builder, event->address, event->size);
    if (end <= event->address)
        return 0;
    int64_t result = unmap(builder, stream, stack, event->address, end, 0, NULL);
    uint32_t detail = (uint32_t)builder->mappings.count;
    struct hs_mapping *added = result < 0 ? NULL : hs_array__add(&builder->mappings, sizeof *added);
    if (!added)
        return result < 0 ? (int)result : -ENOMEM;
    *added = (struct hs_mapping){.offset = event->offset,
                                 .asked = event->asked,
                                 .protection = event->protection,
                                 .map_flags = event->map_flags,
                                 .fd = event->fd};
    const struct hs_new_row row = {.address = event->address,
                                   .size = event->size,
                                   .usable = end - event->address,
                                   .stack = stack,
                                   .stream = stream,
                                   .detail = detail,
                                   .kind = HS_KIND_MMAP};
    result = add_mapping(builder, &row, end);
    return result < 0 ? (int)result : 0;
}

static int remap(struct hs_builder *builder, uint32_t stream, const struct hs_event *event, uint32_t stack)
{
    uint64_t end = range_end(builder, event->address, event->size);
    struct hs_live_mapping old = {0};
    int64_t result = unmap(builder, stream, stack, event->old_address,
                           range_end(builder, event->old_address, event->old_size), HS_ROW_REALLOCATED, &old);
    if (result >= 0)
        result = unmap(builder, stream, stack, event->address, end, 0, NULL);
    if (result < 0 || end <= event->address)
        return result < 0 ? (int)result : 0;
    const struct hs_new_row row = {.address = event->address,
                                   .size = event->size,
                                   .usable = end - event->address,
                                   .stack = stack,
                                   .stream = stream,
                                   .detail = old.detail,
                                   .kind = HS_KIND_MREMAP};
    result = add_mapping(builder, &row, end);
    if (result < 0 || !old.end)
        return result < 0 ? (int)result : 0;
    int64_t link = hs_builder__link(builder, old.row, old.link, (uint32_t)result);
    if (link > 0)
        hs_live_ranges__at(&builder->maps, hs_live_ranges__behind(&builder->maps, event->address))->link =
            (uint32_t)link;
    return link < 0 ? (int)link : 0;
}

static int move_break(struct hs_builder *builder, uint32_t stream, const struct hs_event *event, uint32_t stack)
{
    if (event->address < event->old_address) {
        int64_t ended = unmap(builder, stream, stack, event->address, event->old_address, 0, NULL);
        return ended < 0 ? (int)ended : 0;
    }
    if (event->address == event->old_address)
        return 0;
    int64_t result = unmap(builder, stream, stack, event->old_address, event->address, 0, NULL);
    const struct hs_new_row row = {.address = event->old_address,
                                   .size = event->address - event->old_address,
                                   .usable = event->address - event->old_address,
                                   .stack = stack,
                                   .stream = stream,
                                   .kind = HS_KIND_BRK};
    if (result >= 0)
        result = add_mapping(builder, &row, event->address);
    return result < 0 ? (int)result : 0;
}

// The kernel ends no mapping that is not there, and gives no range that is taken unless it is asked to. Where one was
// missed it does not fit for ever.
static bool fits(struct hs_builder *builder, const struct hs_event *event)
{
    uint64_t end = range_end(builder, event->address, event->size);
    const struct hs_live_mapping *first =
        hs_live_ranges__at(&builder->maps, hs_live_ranges__behind(&builder->maps, event->address));
    bool is_mapped = first && first->start < end;
    if (event->kind == HS_EVENT_MMAP)
        return !is_mapped || event->map_flags & MAP_FIXED;
    return event->kind != HS_EVENT_MUNMAP || is_mapped;
}

int hs_builder__map_event(struct hs_builder *builder, const struct hs_step *step)
{
    const struct hs_event *event = step->event;
    if (!builder->takes_all && !fits(builder, event))
        return HS_TIE_WAITS;
    uint32_t stream = step->stream, stack = hs_builder__known_stack(builder, step->stack);
    int failed = 0;
    if (event->kind == HS_EVENT_MMAP) {
        failed = map(builder, stream, event, stack);
    } else if (event->kind == HS_EVENT_MREMAP) {
        failed = remap(builder, stream, event, stack);
    } else if (event->kind == HS_EVENT_BRK) {
        failed = move_break(builder, stream, event, stack);
    } else if (event->kind == HS_EVENT_MUNMAP) {
        uint64_t end = range_end(builder, event->address, event->size);
        int64_t ended = unmap(builder, stream, stack, event->address, end, 0, NULL);
        builder->summary->unknown_unmaps += ended == 0;
        failed = ended < 0 ? (int)ended : 0;
    }
    count_peak(builder);
    return failed;
}
