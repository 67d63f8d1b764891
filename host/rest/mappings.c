// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /mmaps: mappings as the calls that made and ended them; /maps: as things that were there for a time.
#include "host/rest/answers.h"
#include "host/rest/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

const struct hs_rest_parameter hs_maps_parameters[] = {
    {.name = "sort_by",
     .kind = HS_REST_CHOICE,
     .choices = "timestamp address size peak_rss",
     .otherwise = "timestamp",
     .help = "the order; what was resident is not recorded, so that peak_rss is that of timestamp"},
    {.name = "id", .kind = HS_REST_NUMBER, .help = "only this one, whatever the filter says"},
    {.name = "readable",
     .kind = HS_REST_CHOICE,
     .choices = "only_true only_false",
     .help = "only those, or only others"},
    {.name = "writable",
     .kind = HS_REST_CHOICE,
     .choices = "only_true only_false",
     .help = "only those, or only others"},
    {.name = "executable",
     .kind = HS_REST_CHOICE,
     .choices = "only_true only_false",
     .help = "only those, or only others"},
    {.name = "with_regions", .kind = HS_REST_FLAG, .otherwise = "false", .help = "also the parts of each"},
    {.name = "with_usage_history",
     .kind = HS_REST_FLAG,
     .otherwise = "false",
     .help = "taken for the sake of older clients; what was resident is not recorded"},
    {.name = "generate_graphs",
     .kind = HS_REST_FLAG,
     .otherwise = "false",
     .help = "taken for the sake of older clients; no pictures are made, the URLs are null"},
    {0},
};

static void free_rows(void *work)
{
    hs_rows__free(work);
    free(work);
}

static const struct hs_mapping *mapping_of(const struct hs_store *store, uint64_t row)
{
    static const struct hs_mapping none = {.fd = -1};
    size_t count = 0;
    const struct hs_mapping *mappings = hs_store__mappings(store, &count);
    uint32_t detail = hs_row__detail(hs_store__columns(store), row);
    return detail < count ? &mappings[detail] : &none;
}

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
    size_t low = 0, high = rows->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (hs_row__address(columns, rows->row[middle]) < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// What is left of a mapping of which a part was unmapped is a row of its own, made at that very time: the parts that
// went are what lies between.
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
    const struct hs_mapping *mapping = mapping_of(store, operation->row);
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
    struct hs_json json;
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    hs_json__open_array(&json, "operations");
    for (size_t i = 0; i < operations->count && !ferror(out); i++)
        write_operation(&json, question, &operations->operation[i]);
    hs_json__close_array(&json);
    hs_json__close_object(&json);
    return 0;
}

// ---- /maps ----------------------------------------------------------------------------------------------------------

static bool is_wanted(const struct hs_question *question, const char *name, bool value)
{
    const char *word = hs_question__text(question, name);
    return !word || !strcmp(word, value ? "only_true" : "only_false");
}

static bool accept_map(void *context, const struct hs_store *store, uint64_t row)
{
    const struct hs_question *question = context;
    uint32_t protection = mapping_of(store, row)->protection;
    return is_wanted(question, "readable", protection & PROT_READ) &&
           is_wanted(question, "writable", protection & PROT_WRITE) &&
           is_wanted(question, "executable", protection & PROT_EXEC);
}

static bool accept_id(void *context, const struct hs_store *store, uint64_t row)
{
    (void)store;
    return row == hs_question__number(context, "id", UINT64_MAX);
}

int hs_prepare__maps(struct hs_question *question)
{
    const char *word = hs_question__text(question, "sort_by");
    struct hs_rows *rows = calloc(1, sizeof(*rows));
    if (!rows)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    question->work = rows;
    question->free_work = free_rows;
    bool one = hs_question__text(question, "id");
    if (one)
        hs_filter__init(&question->filter);
    question->filter.domains = HS_FILTER_MAP;
    question->filter.accept = one ? accept_id : accept_map;
    question->filter.context = question;
    int result =
        hs_query__rows(question->store, &question->filter,
                       !strcmp(word, "address") ? HS_ROW_BY_ADDRESS
                       : !strcmp(word, "size")  ? HS_ROW_BY_SIZE
                                                : HS_ROW_BY_TIME,
                       !strcmp(hs_question__text(question, "order"), "dsc"), hs_question__number(question, "skip", 0),
                       hs_question__number(question, "count", UINT64_MAX), &question->control, rows, &question->error);
    return result ? result : hs_rest_state__prepare_frame_counts(question->state, &question->error);
}

static void write_source(struct hs_json *json, const struct hs_question *question, uint32_t row, bool ends)
{
    const struct hs_columns *columns = hs_store__columns(question->store);
    uint32_t stack = ends ? hs_row__free_stack(columns, row) : hs_row__stack(columns, row);
    uint64_t time = ends ? hs_row__free_time(columns, row) : hs_row__time(columns, row);
    hs_json__open_object(json, "source");
    hs_write__times(json, "timestamp", question->store, time);
    hs_json__number(
        json, "thread",
        hs_write__thread(question->store, ends ? hs_row__free_stream(columns, row) : hs_row__stream(columns, row)));
    hs_json__number(json, "backtrace_id", stack);
    hs_write__backtrace(json, "backtrace", question, stack);
    hs_json__close_object(json);
}

static void write_protection(struct hs_json *json, const struct hs_mapping *mapping)
{
    hs_json__boolean(json, "is_readable", mapping->protection & PROT_READ);
    hs_json__boolean(json, "is_writable", mapping->protection & PROT_WRITE);
    hs_json__boolean(json, "is_executable", mapping->protection & PROT_EXEC);
    hs_json__boolean(json, "is_shared", mapping->map_flags & MAP_SHARED);
}

// A row is one region: parts that were unmapped or remapped are rows of their own.
static void write_region(struct hs_json *json, const struct hs_question *question, uint32_t row)
{
    const struct hs_columns *columns = hs_store__columns(question->store);
    const struct hs_mapping *mapping = mapping_of(question->store, row);
    hs_json__open_array(json, "regions");
    hs_json__open_object(json, NULL);
    hs_json__number(json, "address", hs_row__address(columns, row));
    hs_write__hexadecimal(json, "address_s", hs_row__address(columns, row));
    hs_write__times(json, "timestamp", question->store, hs_row__time(columns, row));
    hs_json__number(json, "size", hs_row__size(columns, row));
    write_protection(json, mapping);
    hs_json__number(json, "file_offset", mapping->offset);
    hs_json__close_object(json);
    hs_json__close_array(json);
}

static void write_map(struct hs_json *json, const struct hs_question *question, uint32_t row)
{
    const struct hs_store *store = question->store;
    const struct hs_columns *columns = hs_store__columns(store);
    const struct hs_mapping *mapping = mapping_of(store, row);
    hs_json__open_object(json, NULL);
    hs_json__number(json, "id", row);
    hs_json__number(json, "address", hs_row__address(columns, row));
    hs_write__hexadecimal(json, "address_s", hs_row__address(columns, row));
    hs_write__times(json, "timestamp", store, hs_row__time(columns, row));
    hs_json__number(json, "size", hs_row__size(columns, row));
    if (hs_row__stack(columns, row))
        write_source(json, question, row, false);
    if (hs_row__free_time(columns, row) != HS_NEVER) {
        hs_json__open_object(json, "deallocation");
        hs_write__time(json, "timestamp", store, hs_row__free_time(columns, row));
        if (hs_row__free_stack(columns, row))
            write_source(json, question, row, true);
        hs_json__close_object(json);
    }
    write_protection(json, mapping);
    hs_json__string(json, "name",
                    hs_row__kind(columns, row) == HS_KIND_BRK               ? "[heap]"
                    : mapping->fd < 0 || mapping->map_flags & MAP_ANONYMOUS ? "[anon]"
                                                                            : "[file]");
    hs_json__null(json, "peak_rss");
    hs_json__null(json, "graph_preview_url");
    hs_json__null(json, "graph_url");
    if (hs_question__flag(question, "with_regions"))
        write_region(json, question, row);
    if (hs_question__flag(question, "with_usage_history")) {
        hs_json__open_array(json, "usage_history");
        hs_json__close_array(json);
    }
    hs_json__close_object(json);
}

int hs_answer__maps(struct hs_question *question, FILE *out)
{
    const struct hs_rows *rows = question->work;
    struct hs_json json;
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    hs_json__open_array(&json, "maps");
    for (size_t i = 0; i < rows->count && !ferror(out); i++)
        write_map(&json, question, rows->row[i]);
    hs_json__close_array(&json);
    hs_json__number(&json, "total_count", rows->total);
    hs_json__close_object(&json);
    return 0;
}
