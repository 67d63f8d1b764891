// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /mmaps: mappings as the calls that made and ended them.
#include "host/base/search.h"
#include "host/rest/answers.h"
#include "host/rest/map_list.h"
#include "host/rest/paging.h"
#include "host/rest/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// ---- /mmaps ---------------------------------------------------------------------------------------------------------

struct operation {
    uint64_t time;
    uint64_t address, length;
    uint32_t row;
    bool ends;
};

struct operations {
    struct operation *operation;
    size_t count;
};

static int compare(const void *left, const void *right)
{
    const struct operation *a = left, *b = right;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    if (a->ends != b->ends)
        return a->ends ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

static void free_operations(void *work)
{
    struct operations *operations = work;
    free(operations->operation);
    free(operations);
}

static size_t first_at(const struct hs_columns *columns, const struct hs_rows *rows, uint64_t address)
{
    return HS_SEARCH(rows->count, i, hs_row__address(columns, rows->row[i]) < address);
}

// If a part of a mapping is unmapped, the rest becomes a new row at the same time. The unmapped parts are the ranges
// between these rows.
static size_t split_end(const struct hs_store *store, const struct hs_rows *rows, uint32_t row,
                        struct operation *operation)
{
    const struct hs_columns *columns = hs_store__columns(store);
    uint64_t at = hs_row__address(columns, row), end = at + hs_row__size(columns, row);
    uint64_t time = hs_row__free_time(columns, row);
    size_t count = 0;
    for (size_t i = first_at(columns, rows, at); i < rows->count; i++) {
        uint32_t rest = rows->row[i];
        uint64_t address = hs_row__address(columns, rest);
        if (address >= end)
            break;
        if (!(hs_row__flags(columns, rest) & HS_ROW_SPLIT) || hs_row__time(columns, rest) != time)
            continue;
        if (address > at)
            operation[count++] = (struct operation){time, at, address - at, row, true};
        at = address + hs_row__size(columns, rest);
    }
    if (at < end)
        operation[count++] = (struct operation){time, at, end - at, row, true};
    return count;
}

static size_t count_splits(const struct hs_columns *columns, const struct hs_rows *rows)
{
    size_t count = 0;
    for (size_t i = 0; i < rows->count; i++)
        count += (hs_row__flags(columns, rows->row[i]) & HS_ROW_SPLIT) != 0;
    return count;
}

static int list_operations(struct hs_question *question, const struct hs_rows *rows, struct operations *operations)
{
    const struct hs_columns *columns = hs_store__columns(question->store);
    size_t splits = count_splits(columns, rows);
    operations->operation = calloc(2 * rows->count + splits + 1, sizeof(*operations->operation));
    if (!operations->operation)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    for (size_t i = 0; i < rows->count; i++) {
        uint32_t row = rows->row[i];
        uint64_t address = hs_row__address(columns, row), size = hs_row__size(columns, row);
        if (!(hs_row__flags(columns, row) & HS_ROW_SPLIT))
            operations->operation[operations->count++] =
                (struct operation){hs_row__time(columns, row), address, size, row, false};
        if (hs_row__free_time(columns, row) == HS_NEVER)
            continue;
        struct operation *to = &operations->operation[operations->count];
        if (splits) {
            operations->count += split_end(question->store, rows, row, to);
        } else {
            *to = (struct operation){hs_row__free_time(columns, row), address, size, row, true};
            operations->count++;
        }
    }
    qsort(operations->operation, operations->count, sizeof(*operations->operation), compare);
    return 0;
}

int hs_prepare__mmaps(struct hs_question *question)
{
    struct hs_rows rows;
    struct operations *operations = calloc(1, sizeof(*operations));
    if (!operations)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    question->work = operations;
    question->free_work = free_operations;
    question->filter.domains = HS_FILTER_MAP;
    int result = hs_query__rows(question->store, &question->filter, HS_ROW_BY_ADDRESS, false, 0, UINT64_MAX,
                                &question->control, &rows, &question->error);
    if (result)
        return result;
    result = list_operations(question, &rows, operations);
    hs_rows__free(&rows);
    return result ? result : hs_rest_state__prepare_frame_counts(question->state, &question->error);
}

static void write_flags(struct hs_json *json, const struct hs_mapping *mapping)
{
    hs_json__boolean(json, "is_readable", mapping->protection & PROT_READ);
    hs_json__boolean(json, "is_writable", mapping->protection & PROT_WRITE);
    hs_json__boolean(json, "is_executable", mapping->protection & PROT_EXEC);
    hs_json__boolean(json, "is_semaphore", mapping->protection & 8);
    hs_json__boolean(json, "grows_down", mapping->protection & PROT_GROWSDOWN);
    hs_json__boolean(json, "grows_up", mapping->protection & PROT_GROWSUP);
    hs_json__boolean(json, "is_shared", mapping->map_flags & MAP_SHARED);
    hs_json__boolean(json, "is_private", mapping->map_flags & MAP_PRIVATE);
    hs_json__boolean(json, "is_fixed", mapping->map_flags & MAP_FIXED);
    hs_json__boolean(json, "is_anonymous", mapping->map_flags & MAP_ANONYMOUS);
    hs_json__boolean(json, "is_uninitialized", mapping->map_flags & 0x4000000);
}

static void write_operation(struct hs_json *json, const struct hs_question *question, const struct operation *operation)
{
    const struct hs_store *store = question->store;
    const struct hs_columns *columns = hs_store__columns(store);
    const struct hs_mapping *mapping = hs_mapping_of(store, operation->row);
    uint32_t row = operation->row;
    uint32_t stack = operation->ends ? hs_row__free_stack(columns, row) : hs_row__stack(columns, row);
    uint32_t stream = operation->ends ? hs_row__free_stream(columns, row) : hs_row__stream(columns, row);
    hs_json__open_object(json, NULL);
    hs_json__open_object(json, operation->ends ? "munmap" : "mmap");
    hs_write__time(json, "timestamp", store, operation->time);
    hs_json__number(json, "pointer", operation->address);
    hs_write__hexadecimal(json, "pointer_s", operation->address);
    hs_json__number(json, "length", operation->length);
    hs_json__number(json, "backtrace_id", stack);
    hs_write__backtrace(json, "backtrace", question, stack);
    if (!operation->ends) {
        hs_json__number(json, "requested_address", mapping->asked);
        hs_write__hexadecimal(json, "requested_address_s", mapping->asked);
        write_flags(json, mapping);
        hs_json__number(json, "offset", mapping->offset);
        hs_json__signed(json, "file_descriptor", mapping->fd);
    }
    hs_json__number(json, "thread", hs_write__thread(store, stream));
    hs_json__close_object(json);
    hs_json__close_object(json);
}

int hs_answer__mmaps(struct hs_question *question, FILE *out)
{
    const struct operations *operations = question->work;
    struct hs_paging paging = hs_paging__start(question, out, operations->count);
    struct hs_json json;
    uint64_t i;
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    hs_json__open_array(&json, "operations");
    while (hs_paging__next(&paging, &i))
        write_operation(&json, question, &operations->operation[i]);
    hs_json__close_array(&json);
    hs_json__number(&json, "total_count", operations->count);
    hs_paging__end(&paging, &json);
    hs_json__close_object(&json);
    return 0;
}
