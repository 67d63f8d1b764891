// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /regions: the address ranges of blocks, those that touch or overlap as one.
#include "host/filter/allocator.h"
#include "host/rest/answers.h"
#include "host/rest/write.h"

#include <errno.h>
#include <stdlib.h>

struct regions {
    struct hs_rows rows; // by address
    struct hs_main_heap heap;
    uint64_t heap_start, heap_end;
    bool mapped_blocks; // some have mappings of their own
};

static void free_regions(void *work)
{
    struct regions *regions = work;
    hs_rows__free(&regions->rows);
    free(regions);
}

static uint64_t start_of(const struct hs_question *question, const struct regions *regions, uint64_t row)
{
    const struct hs_columns *columns = hs_store__columns(question->store);
    bool mapped = regions->mapped_blocks && hs_allocator__is_mapped(question->store, row);
    return hs_row__address(columns, row) - columns->pointer_size * (mapped ? 2u : 1u);
}

static uint64_t end_of(const struct hs_question *question, uint64_t row)
{
    const struct hs_columns *columns = hs_store__columns(question->store);
    return hs_row__address(columns, row) + hs_row__size(columns, row) + hs_row__slack(columns, row);
}

struct bounding {
    struct hs_question *question;
    struct regions *regions;
};

static int bound(void *context, const struct hs_store *store, uint64_t row)
{
    struct bounding *bounding = context;
    struct regions *regions = bounding->regions;
    if (!hs_main_heap__has(&regions->heap, store, row))
        return 0;
    uint64_t start = start_of(bounding->question, regions, row), end = end_of(bounding->question, row);
    if (!regions->heap_end || start < regions->heap_start)
        regions->heap_start = start;
    if (end > regions->heap_end)
        regions->heap_end = end;
    return 0;
}

int hs_prepare__regions(struct hs_question *question)
{
    struct regions *regions = calloc(1, sizeof(*regions));
    if (!regions)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    question->work = regions;
    question->free_work = free_regions;
    regions->mapped_blocks = hs_allocator__of(question->store) == HS_ALLOCATOR_GLIBC;
    hs_main_heap__find(question->store, &regions->heap);
    struct bounding bounding = {question, regions};
    int result = 0;
    if (regions->heap.to)
        result = hs_query__each(question->store, NULL, &question->control, bound, &bounding, &question->error);
    return result ? result
                  : hs_query__rows(question->store, &question->filter, HS_ROW_BY_ADDRESS, false, 0, UINT64_MAX,
                                   &question->control, &regions->rows, &question->error);
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
    struct hs_json json;
    uint64_t start = 0, end = 0;
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    hs_json__number(&json, "main_heap_start", regions->heap_start);
    hs_json__number(&json, "main_heap_end", regions->heap_end);
    hs_write__hexadecimal(&json, "main_heap_start_s", regions->heap_start);
    hs_write__hexadecimal(&json, "main_heap_end_s", regions->heap_end);
    hs_json__open_array(&json, "regions");
    for (size_t i = 0; i < regions->rows.count; i++) {
        uint64_t next = start_of(question, regions, regions->rows.row[i]);
        uint64_t next_end = end_of(question, regions->rows.row[i]);
        if (i && next > end)
            write_region(&json, start, end);
        if (!i || next > end)
            start = next;
        end = next_end > end ? next_end : end;
    }
    if (regions->rows.count)
        write_region(&json, start, end);
    hs_json__close_array(&json);
    hs_json__close_object(&json);
    return 0;
}
