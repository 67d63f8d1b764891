// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /thread_matrix: which thread allocated the matching blocks, and which one freed them.
#include "host/query/block_scan.h"
#include "host/query/scan.h"
#include "host/rest/answers.h"
#include "host/rest/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct hs_rest_parameter hs_thread_matrix_parameters[] = {
    {.name = "top",
     .kind = HS_REST_NUMBER,
     .least = 1,
     .most = 100,
     .default_value = "16",
     .help =
         "at most this many threads, those that allocated and freed the most; the others are one row and one column"},
    {0},
};

// A stream of no thread: the block was never freed.
#define NEVER_FREED UINT32_MAX

struct matrix_cell {
    uint32_t by, freed_by; // streams, later indexes of threads
    uint64_t bytes, count; // count 0: a free slot
};

struct matrix_cells {
    struct matrix_cell *at;
    size_t count, room; // room is a power of two
};

struct matrix_thread {
    uint32_t stream;
    uint64_t bytes; // allocated and freed
};

struct matrix {
    struct matrix_thread *thread;
    size_t threads, all; // those that are rows, and the number of all
    struct matrix_cells cells;
    uint64_t bytes, count;
    uint64_t others_bytes, others_count; // freed by another thread than allocated them
};

static void free_matrix(void *work)
{
    struct matrix *matrix = work;
    free(matrix->thread);
    free(matrix->cells.at);
    free(matrix);
}

// ---- cells ----------------------------------------------------------------------------------------------------------

static struct matrix_cell *slot_of(const struct matrix_cells *cells, uint32_t by, uint32_t freed_by)
{
    const uint64_t mixed = ((uint64_t)by << 32 | freed_by) * 0x9e3779b97f4a7c15u;
    size_t at = (size_t)(mixed >> 32) & (cells->room - 1);
    while (cells->at[at].count && (cells->at[at].by != by || cells->at[at].freed_by != freed_by))
        at = (at + 1) & (cells->room - 1);
    return &cells->at[at];
}

static int grow(struct matrix_cells *cells)
{
    struct matrix_cells grown = {.count = cells->count, .room = cells->room ? 2 * cells->room : 64};
    grown.at = calloc(grown.room, sizeof(*grown.at));
    if (!grown.at)
        return -ENOMEM;
    for (size_t i = 0; i < cells->room; i++)
        if (cells->at[i].count)
            *slot_of(&grown, cells->at[i].by, cells->at[i].freed_by) = cells->at[i];
    free(cells->at);
    *cells = grown;
    return 0;
}

static int add(struct matrix_cells *cells, const struct matrix_cell *one)
{
    if (2 * cells->count >= cells->room && grow(cells))
        return -ENOMEM;
    struct matrix_cell *slot = slot_of(cells, one->by, one->freed_by);
    cells->count += !slot->count;
    slot->by = one->by;
    slot->freed_by = one->freed_by;
    slot->bytes += one->bytes;
    slot->count += one->count;
    return 0;
}

static int add_all(struct matrix_cells *to, const struct matrix_cells *from)
{
    int failed = 0;
    for (size_t i = 0; i < from->room && !failed; i++)
        if (from->at[i].count)
            failed = add(to, &from->at[i]);
    return failed;
}

// ---- the scan -------------------------------------------------------------------------------------------------------

static int take_block(void *context, unsigned worker, struct hs_matcher *matcher)
{
    struct matrix_cells *cells = (struct matrix_cells *)context + worker;
    struct hs_column_block *block = &matcher->block;
    const uint64_t *size = hs_column_block__column(block, HS_BLOCK_SIZE),
                   *end = hs_column_block__column(block, HS_BLOCK_FREE_TIME),
                   *stream = hs_column_block__column(block, HS_BLOCK_STREAM),
                   *free_stream = hs_column_block__column(block, HS_BLOCK_FREE_STREAM);
    // Successive blocks mostly belong to the same cell.
    struct matrix_cell run = {0};
    int failed = 0;
    for (size_t n = 0; n < matcher->count && !failed; n++) {
        const size_t i = matcher->place[n];
        const uint32_t by = (uint32_t)stream[i];
        const uint32_t freed_by = end[i] == HS_NEVER ? NEVER_FREED : (uint32_t)(stream[i] ^ free_stream[i]);
        if (run.count && (run.by != by || run.freed_by != freed_by)) {
            failed = add(cells, &run);
            run.bytes = run.count = 0;
        }
        run = (struct matrix_cell){by, freed_by, run.bytes + size[i], run.count + 1};
    }
    return failed || !run.count ? failed : add(cells, &run);
}

static int look(struct matrix_cells *cells, struct hs_question *question)
{
    const unsigned workers = hs_scan__workers(question->store, &question->control);
    struct matrix_cells *found = calloc(workers, sizeof(*found)); // by worker
    const struct hs_block_scan scan = {question->store, &question->filter, &question->control,
                                       workers,         take_block,        found};
    int result = found ? hs_block_scan__run(&scan, &question->error) : -ENOMEM;
    for (unsigned worker = 0; found && worker < workers; worker++) {
        if (!result)
            result = add_all(cells, &found[worker]);
        free(found[worker].at);
    }
    free(found);
    return result;
}

// ---- rows and columns -----------------------------------------------------------------------------------------------

static int by_stream(const void *left, const void *right)
{
    const struct matrix_thread *a = left, *b = right;
    return (a->stream > b->stream) - (a->stream < b->stream);
}

static int by_bytes(const void *left, const void *right)
{
    const struct matrix_thread *a = left, *b = right;
    return a->bytes == b->bytes ? by_stream(left, right) : a->bytes > b->bytes ? -1 : 1;
}

static int choose_threads(struct matrix *matrix, const struct matrix_cells *cells, size_t top)
{
    size_t count = 0;
    matrix->thread = calloc(2 * cells->count + 1, sizeof(*matrix->thread));
    if (!matrix->thread)
        return -ENOMEM;
    for (size_t i = 0; i < cells->room; i++) {
        const struct matrix_cell *cell = &cells->at[i];
        if (!cell->count)
            continue;
        matrix->thread[count++] = (struct matrix_thread){cell->by, cell->bytes};
        if (cell->freed_by != NEVER_FREED)
            matrix->thread[count++] = (struct matrix_thread){cell->freed_by, cell->bytes};
    }
    qsort(matrix->thread, count, sizeof(*matrix->thread), by_stream);
    for (size_t i = 0; i < count; i++)
        if (matrix->all && matrix->thread[matrix->all - 1].stream == matrix->thread[i].stream)
            matrix->thread[matrix->all - 1].bytes += matrix->thread[i].bytes;
        else
            matrix->thread[matrix->all++] = matrix->thread[i];
    qsort(matrix->thread, matrix->all, sizeof(*matrix->thread), by_bytes);
    matrix->threads = matrix->all < top ? matrix->all : top;
    return 0;
}

// Its index among the rows; that of the row of all others is the one after the last.
static uint32_t index_of(const struct matrix *matrix, uint32_t stream)
{
    size_t i = 0;
    if (stream == NEVER_FREED)
        return NEVER_FREED;
    while (i < matrix->threads && matrix->thread[i].stream != stream)
        i++;
    return (uint32_t)i;
}

static int by_place(const void *left, const void *right)
{
    const struct matrix_cell *a = left, *b = right;
    if (a->by != b->by)
        return a->by < b->by ? -1 : 1;
    return (a->freed_by > b->freed_by) - (a->freed_by < b->freed_by);
}

// Puts the cells in order, those of other threads together.
static int arrange(struct matrix *matrix, const struct matrix_cells *cells)
{
    int failed = 0;
    for (size_t i = 0; i < cells->room && !failed; i++) {
        struct matrix_cell one = cells->at[i];
        if (!one.count)
            continue;
        if (one.freed_by != NEVER_FREED && one.freed_by != one.by) {
            matrix->others_bytes += one.bytes;
            matrix->others_count += one.count;
        }
        one.by = index_of(matrix, one.by);
        one.freed_by = index_of(matrix, one.freed_by);
        matrix->bytes += one.bytes;
        matrix->count += one.count;
        failed = add(&matrix->cells, &one);
    }
    size_t count = 0;
    for (size_t i = 0; i < matrix->cells.room; i++)
        if (matrix->cells.at[i].count)
            matrix->cells.at[count++] = matrix->cells.at[i];
    if (count)
        qsort(matrix->cells.at, count, sizeof(*matrix->cells.at), by_place);
    return failed;
}

int hs_prepare__thread_matrix(struct hs_question *question)
{
    struct matrix_cells cells = {0};
    struct matrix *matrix = calloc(1, sizeof(*matrix));
    if (!matrix)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    question->work = matrix;
    question->free_work = free_matrix;
    if (hs_store__summary(question->store)->is_aggregate)
        return hs_query__refuse_aggregate(&question->error);
    int result = look(&cells, question);
    if (!result)
        result = choose_threads(matrix, &cells, (size_t)hs_question__number(question, "top", 16));
    if (!result)
        result = arrange(matrix, &cells);
    free(cells.at);
    return result == -ENOMEM ? hs_error__set(&question->error, ENOMEM, "out of memory") : result;
}

// ---- writing --------------------------------------------------------------------------------------------------------

static void write_threads(struct hs_json *json, const struct hs_question *question, const struct matrix *matrix)
{
    hs_json__open_array(json, "threads");
    for (size_t i = 0; i < matrix->threads; i++) {
        const struct hs_thread *thread = hs_store__thread(question->store, matrix->thread[i].stream);
        hs_json__open_object(json, NULL);
        hs_json__number(json, "thread", hs_write__thread(question->store, matrix->thread[i].stream));
        hs_json__string(json, "name", thread && thread->name ? thread->name : "");
        hs_json__close_object(json);
    }
    hs_json__close_array(json);
    hs_json__number(json, "other_threads", matrix->all - matrix->threads);
}

int hs_answer__thread_matrix(struct hs_question *question, FILE *out)
{
    const struct matrix *matrix = question->work;
    struct hs_json json;
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    write_threads(&json, question, matrix);
    hs_json__number(&json, "bytes", matrix->bytes);
    hs_json__number(&json, "count", matrix->count);
    hs_json__open_object(&json, "freed_by_others");
    hs_json__number(&json, "bytes", matrix->others_bytes);
    hs_json__number(&json, "count", matrix->others_count);
    hs_json__close_object(&json);
    hs_json__open_array(&json, "cells");
    for (size_t i = 0; i < matrix->cells.count; i++) {
        const struct matrix_cell *cell = &matrix->cells.at[i];
        hs_json__open_object(&json, NULL);
        hs_json__number(&json, "by", cell->by);
        if (cell->freed_by == NEVER_FREED)
            hs_json__null(&json, "freed_by");
        else
            hs_json__number(&json, "freed_by", cell->freed_by);
        hs_json__number(&json, "bytes", cell->bytes);
        hs_json__number(&json, "count", cell->count);
        hs_json__close_object(&json);
    }
    hs_json__close_array(&json);
    hs_json__close_object(&json);
    return 0;
}
