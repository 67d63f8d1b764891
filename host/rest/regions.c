// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /regions: the address ranges of blocks, those that touch or overlap as one; /address_map: how full equal pieces of
// the address space are.
#include "host/filter/allocator.h"
#include "host/query/match.h"
#include "host/query/scan.h"
#include "host/rest/answers.h"
#include "host/rest/paging.h"
#include "host/rest/spans.h"
#include "host/rest/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct regions {
    struct hs_spans spans;
    struct hs_span heap; // that all blocks of the main heap lie in; 0 to 0: there is none
};

static void free_regions(void *work)
{
    struct regions *regions = work;
    hs_spans__free(&regions->spans);
    free(regions);
}

struct regions_looker {
    struct hs_matcher *matcher;
    struct hs_spans spans;
    struct hs_span heap;
};

struct regions_looking {
    const struct hs_store *store;
    struct hs_main_heap heap;
    bool mapped_blocks; // some have mappings of their own
    bool wants_spans, wants_heap;
    struct regions_looker *looker; // by worker
    unsigned workers;
};

// The head of a block belongs to it.
static struct hs_span span_of(const struct regions_looking *looking, uint64_t row, uint64_t address, uint64_t usable)
{
    const unsigned word = hs_store__columns(looking->store)->pointer_size;
    const bool mapped = looking->mapped_blocks && hs_allocator__is_mapped(looking->store, row);
    return (struct hs_span){address - word * (mapped ? 2u : 1u), address + usable};
}

static void widen(const struct regions_looking *looking, struct regions_looker *looker, uint64_t row,
                  struct hs_span span)
{
    const bool wider = !looker->heap.end || span.start < looker->heap.start || span.end > looker->heap.end;
    if (!wider || !hs_main_heap__has(&looking->heap, looking->store, row))
        return;
    looker->heap.start = !looker->heap.end || span.start < looker->heap.start ? span.start : looker->heap.start;
    looker->heap.end = span.end > looker->heap.end ? span.end : looker->heap.end;
}

static int look_at_rows(void *context, unsigned worker, uint64_t first, uint64_t end)
{
    const struct regions_looking *looking = context;
    struct regions_looker *looker = &looking->looker[worker];
    struct hs_matcher *matcher = looker->matcher;
    const unsigned word = hs_store__columns(looking->store)->pointer_size;
    int failed = 0;
    for (uint64_t row = first; row < end && !failed; row += HS_PACKED_BLOCK) {
        const size_t count = hs_matcher__match(matcher, row / HS_PACKED_BLOCK);
        if (!count)
            continue;
        const uint64_t *address = hs_column_block__column(&matcher->block, HS_BLOCK_ADDRESS);
        const uint64_t *size = hs_column_block__column(&matcher->block, HS_BLOCK_SIZE);
        const uint64_t *slack = hs_column_block__column(&matcher->block, HS_BLOCK_SLACK);
        for (size_t n = 0; n < count && !failed; n++) {
            const size_t i = matcher->place[n];
            const uint64_t usable = size[i] + hs_row__stored_slack(slack[i], size[i], word);
            const struct hs_span span = span_of(looking, row + i, address[i], usable);
            if (looking->wants_heap)
                widen(looking, looker, row + i, span);
            if (looking->wants_spans)
                failed = hs_spans__add(&looker->spans, span.start, span.end);
        }
    }
    return failed;
}

static void free_lookers(struct regions_looking *looking)
{
    for (unsigned worker = 0; looking->looker && worker < looking->workers; worker++) {
        hs_matcher__destroy(looking->looker[worker].matcher);
        hs_spans__free(&looking->looker[worker].spans);
    }
    free(looking->looker);
    looking->looker = NULL;
}

static int look(struct regions_looking *looking, const struct hs_filter *filter, const struct hs_query_control *control)
{
    const struct hs_scan scan = {looking->store, filter, control, looking->workers, look_at_rows, looking, false, 0};
    looking->looker = calloc(looking->workers, sizeof(*looking->looker));
    int failed = looking->looker ? 0 : -ENOMEM;
    for (unsigned worker = 0; worker < looking->workers && !failed; worker++) {
        looking->looker[worker].matcher = hs_matcher__create(looking->store, filter);
        failed = looking->looker[worker].matcher ? 0 : -ENOMEM;
    }
    return failed ? failed : hs_scan__run(&scan, NULL);
}

static void take_heap(struct regions *regions, const struct hs_span *found)
{
    if (!found->end)
        return;
    regions->heap.start = !regions->heap.end || found->start < regions->heap.start ? found->start : regions->heap.start;
    regions->heap.end = found->end > regions->heap.end ? found->end : regions->heap.end;
}

// Merges the results of the workers.
static int take_all(struct regions_looking *looking, struct regions *regions)
{
    int failed = 0;
    for (unsigned worker = 0; worker < looking->workers && !failed; worker++) {
        struct hs_spans *spans = &looking->looker[worker].spans;
        take_heap(regions, &looking->looker[worker].heap);
        failed = hs_spans__settle(spans);
        for (size_t i = 0; i < spans->count && !failed; i++)
            failed = hs_spans__add(&regions->spans, spans->at[i].start, spans->at[i].end);
    }
    return failed ? failed : hs_spans__settle(&regions->spans);
}

static int find(struct regions_looking *looking, const struct hs_filter *filter, const struct hs_query_control *control,
                struct regions *regions)
{
    int failed = look(looking, filter, control);
    if (!failed)
        failed = take_all(looking, regions);
    free_lookers(looking);
    return failed;
}

int hs_prepare__regions(struct hs_question *question)
{
    struct hs_filter all;
    struct regions *regions = calloc(1, sizeof(*regions));
    if (!regions)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    question->work = regions;
    question->free_work = free_regions;
    if (hs_store__summary(question->store)->is_aggregate)
        return hs_query__refuse_aggregate(&question->error);
    struct regions_looking looking = {.store = question->store,
                                      .mapped_blocks = hs_allocator__of(question->store) == HS_ALLOCATOR_GLIBC,
                                      .wants_spans = true,
                                      .workers = hs_scan__workers(question->store, &question->control)};
    hs_main_heap__find(question->store, &looking.heap);
    const bool has_heap = looking.heap.to != 0;
    looking.wants_heap = has_heap && !question->restricted;
    int failed = find(&looking, &question->filter, &question->control, regions);
    // The main heap is that of all blocks, whatever the filter says.
    if (!failed && has_heap && question->restricted) {
        looking.wants_spans = false;
        looking.wants_heap = true;
        hs_filter__init(&all);
        failed = find(&looking, &all, &question->control, regions);
    }
    return failed ? hs_error__set(&question->error, -failed, "%s", strerror(-failed)) : 0;
}

static void write_region(struct hs_json *json, uint64_t start, uint64_t end)
{
    hs_json__open_array(json, NULL);
    hs_json__number(json, NULL, start);
    hs_json__number(json, NULL, end);
    hs_json__close_array(json);
}

int hs_answer__regions(struct hs_question *question, FILE *out)
{
    const struct regions *regions = question->work;
    struct hs_paging paging = hs_paging__start(question, out, regions->spans.count);
    struct hs_json json;
    uint64_t i;
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    hs_json__number(&json, "main_heap_start", regions->heap.start);
    hs_json__number(&json, "main_heap_end", regions->heap.end);
    hs_write__hexadecimal(&json, "main_heap_start_s", regions->heap.start);
    hs_write__hexadecimal(&json, "main_heap_end_s", regions->heap.end);
    hs_json__open_array(&json, "regions");
    while (hs_paging__next(&paging, &i))
        write_region(&json, regions->spans.at[i].start, regions->spans.at[i].end);
    hs_json__close_array(&json);
    hs_json__number(&json, "total_count", regions->spans.count);
    hs_paging__end(&paging, &json);
    hs_json__close_object(&json);
    return 0;
}

// ---- /address_map ---------------------------------------------------------------------------------------------------

const struct hs_rest_parameter hs_address_map_parameters[] = {
    {.name = "width",
     .kind = HS_REST_NUMBER,
     .least = 1,
     .most = 100000,
     .default_value = "1000",
     .help = "the number of pieces, such as the pixels of a picture"},
    {.name = "from_address",
     .kind = HS_REST_NUMBER,
     .help = "where the first piece begins; default the main heap, or where most blocks are"},
    {.name = "to_address", .kind = HS_REST_NUMBER, .help = "where the last piece ends"},
    {0},
};

#define FAR_APART ((uint64_t)1 << 30)

// The part without large gaps in which blocks take most.
static struct hs_span densest(const struct hs_spans *spans)
{
    struct hs_span best = {0}, part = {0};
    uint64_t most = 0, used = 0;
    for (size_t i = 0; i < spans->count; i++) {
        const struct hs_span span = spans->at[i];
        if (!i || span.start - part.end > FAR_APART) {
            part = span;
            used = 0;
        }
        part.end = span.end;
        used += span.end - span.start;
        if (used > most) {
            most = used;
            best = part;
        }
    }
    return best;
}

struct map {
    struct hs_span range;
    uint64_t piece; // bytes
    size_t count;
    uint64_t *used; // by piece
    uint64_t all, largest_gap, runs;
};

static void add_span(struct map *map, uint64_t start, uint64_t end)
{
    map->all += end - start;
    map->runs++;
    while (start < end) {
        const size_t at = (start - map->range.start) / map->piece;
        const uint64_t next = map->range.start + (at + 1) * map->piece, until = next < end ? next : end;
        map->used[at] += until - start;
        start = until;
    }
}

static void fill(struct map *map, const struct hs_spans *spans)
{
    uint64_t before = map->range.start;
    for (size_t i = 0; i < spans->count; i++) {
        const uint64_t start = spans->at[i].start > map->range.start ? spans->at[i].start : map->range.start;
        const uint64_t end = spans->at[i].end < map->range.end ? spans->at[i].end : map->range.end;
        if (start >= end)
            continue;
        if (start - before > map->largest_gap)
            map->largest_gap = start - before;
        before = end;
        add_span(map, start, end);
    }
    if (map->range.end - before > map->largest_gap)
        map->largest_gap = map->range.end - before;
}

static void write_map(struct hs_json *json, const struct map *map, bool is_heap)
{
    hs_json__open_object(json, NULL);
    hs_json__boolean(json, "is_main_heap", is_heap);
    hs_json__number(json, "start", map->range.start);
    hs_write__hexadecimal(json, "start_s", map->range.start);
    hs_json__number(json, "end", map->range.end);
    hs_write__hexadecimal(json, "end_s", map->range.end);
    hs_json__number(json, "piece", map->piece);
    hs_json__number(json, "used_size", map->all);
    hs_json__number(json, "largest_gap", map->largest_gap);
    hs_json__number(json, "runs", map->runs);
    hs_json__open_array(json, "used");
    for (size_t i = 0; i < map->count; i++)
        hs_json__number(json, NULL, map->used[i]);
    hs_json__close_array(json);
    hs_json__close_object(json);
}

int hs_answer__address_map(struct hs_question *question, FILE *out)
{
    const struct regions *regions = question->work;
    const bool is_heap = regions->heap.end && !hs_question__text(question, "from_address");
    struct map map = {.range = regions->heap.end ? regions->heap : densest(&regions->spans)};
    struct hs_json json;
    map.range.start = hs_question__number(question, "from_address", map.range.start);
    map.range.end = hs_question__number(question, "to_address", map.range.end);
    if (map.range.end < map.range.start)
        map.range.end = map.range.start;
    const uint64_t length = map.range.end - map.range.start, pieces = hs_question__number(question, "width", 1000);
    map.piece = length / pieces + (length % pieces != 0);
    map.piece = map.piece ? map.piece : 1;
    map.count = length / map.piece + (length % map.piece != 0);
    map.used = calloc(map.count + 1, sizeof(*map.used));
    if (!map.used)
        return -ENOMEM;
    fill(&map, &regions->spans);
    hs_json__start(&json, out, false);
    write_map(&json, &map, is_heap);
    free(map.used);
    return 0;
}
