// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The free space between the blocks of the main heap, and what keeps it from being given back.
#include "host/findings/scene.h"

#include "host/filter/main_heap.h"
#include "host/report/text.h"

#include <errno.h>
#include <stdlib.h>

#define LEAST_BYTES ((uint64_t)1 << 20)

struct placed_block {
    uint64_t start, end;
    uint32_t stack;
};

struct placed_blocks {
    const struct hs_main_heap *heap;
    struct placed_block *at;
    size_t count, room;
};

static int take_row(void *context, const struct hs_store *store, uint64_t row)
{
    struct placed_blocks *blocks = context;
    const struct hs_columns *columns = hs_store__columns(store);
    if (!hs_main_heap__has(blocks->heap, store, row))
        return 0;
    if (blocks->count == blocks->room) {
        const size_t room = 2 * blocks->room + 1024;
        struct placed_block *grown = reallocarray(blocks->at, room, sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        blocks->at = grown;
        blocks->room = room;
    }
    const uint64_t address = hs_row__address(columns, row), size = hs_row__size(columns, row);
    blocks->at[blocks->count++] =
        (struct placed_block){address - columns->pointer_size, address + size + hs_row__slack_of(columns, row, size),
                              hs_row__stack(columns, row)};
    return 0;
}

static int compare(const void *left, const void *right)
{
    const struct placed_block *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

struct holes {
    uint64_t span, used, largest;
    size_t above; // the first block above the largest hole
};

static struct holes measure(const struct placed_blocks *blocks)
{
    struct holes holes = {.span = blocks->at[blocks->count - 1].end - blocks->at[0].start};
    for (size_t i = 0; i < blocks->count; i++) {
        const struct placed_block *block = &blocks->at[i];
        const uint64_t before = i ? blocks->at[i - 1].end : block->start;
        const uint64_t gap = block->start > before ? block->start - before : 0;
        holes.used += block->end - block->start;
        if (gap > holes.largest) {
            holes.largest = gap;
            holes.above = i;
        }
    }
    return holes;
}

static int add_holes(struct hs_findings_scene *scene, const struct placed_blocks *blocks)
{
    const struct holes holes = measure(blocks);
    const uint64_t lost = holes.span > holes.used ? holes.span - holes.used : 0;
    const uint32_t stack = blocks->at[blocks->count - 1].stack;
    uint64_t above = 0;
    if (lost <= LEAST_BYTES || lost <= holes.span / 4)
        return 0;
    for (size_t i = holes.above; i < blocks->count; i++)
        above += blocks->at[i].end - blocks->at[i].start;
    char *name = hs_findings_scene__name(scene, stack);
    struct hs_finding finding = {
        .confidence = HS_CONFIDENCE_LOOK,
        .text = hs_finding__text("%s of the heap are holes between blocks, shortly before the end. The largest hole is "
                                 "%s. It cannot be given back because of %s with %s behind it; the last one was "
                                 "allocated by %s.",
                                 hs_text__bytes(lost).text, hs_text__bytes(holes.largest).text,
                                 hs_text__blocks(blocks->count - holes.above).text, hs_text__bytes(above).text,
                                 name ? name : ""),
        .reason = hs_finding__text("The heap spans %s, of which blocks use %s.", hs_text__bytes(holes.span).text,
                                   hs_text__bytes(holes.used).text),
        .bytes = lost,
        .count = blocks->count,
        .whole_bytes = holes.span,
        .whole = "the span of the heap",
        .stack = stack,
        .query = hs_findings_scene__query(scene, 0, "alive_at=98%25"),
        .view = "blocks"};
    free(name);
    return hs_findings_scene__add(scene, finding);
}

int hs_find__holes(struct hs_findings_scene *scene)
{
    struct hs_main_heap heap;
    struct hs_filter filter;
    struct placed_blocks blocks = {.heap = &heap};
    hs_filter__init(&filter);
    hs_main_heap__find(scene->store, &heap);
    if (scene->summary->is_aggregate || scene->question->restricted || heap.from >= heap.to)
        return 0;
    filter.alive_at[filter.alive_count++] = scene->late;
    filter.address_min = heap.from;
    filter.address_max = heap.to - 1;
    int result = hs_query__each(scene->store, &filter, scene->question->control, take_row, &blocks, scene->error);
    if (!result && blocks.count) {
        qsort(blocks.at, blocks.count, sizeof(*blocks.at), compare);
        result = add_holes(scene, &blocks);
    }
    free(blocks.at);
    return result;
}
