// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /allocations: single blocks; /raw_allocations: the addresses of the stack of each.
#include "host/filter/allocator.h"
#include "host/rest/answers.h"
#include "host/rest/paging.h"
#include "host/rest/sorted_page.h"
#include "host/rest/write.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

// The next request is likely for an adjacent page, so this many rows are computed and cached together. With an index,
// and near the beginning of a list, few rows are found faster; elsewhere their number makes little difference.
static uint64_t window_at(bool is_ranked, uint64_t skip)
{
    return is_ranked ? 256 : skip < 8192 ? 1024 : 65536;
}

const struct hs_rest_parameter hs_allocations_parameters[] = {
    {.name = "sort_by",
     .kind = HS_REST_CHOICE,
     .choices = "timestamp address size lifetime",
     .default_value = "timestamp",
     .help = "the order of the blocks"},
    {0},
};

struct page {
    struct hs_rows *rows; // held in the cache, or `own`
    struct hs_rows own;
    uint64_t first; // of the window, the first row of the page
    uint64_t count;
    enum hs_allocator allocator;
    struct hs_main_heap heap;
};

static enum hs_row_key key_of(const char *word)
{
    return !strcmp(word, "address")    ? HS_ROW_BY_ADDRESS
           : !strcmp(word, "size")     ? HS_ROW_BY_SIZE
           : !strcmp(word, "lifetime") ? HS_ROW_BY_LIFETIME
                                       : HS_ROW_BY_TIME;
}

struct allocations_asking {
    struct hs_question *question;
    struct hs_sorted_page ranked;
    uint64_t skip, limit;
};

static int ask_rows(struct allocations_asking *asking, struct hs_rows *rows, struct hs_error *error)
{
    struct hs_question *question = asking->question;
    const bool descending = !strcmp(hs_question__text(question, "order"), "dsc");
    if (asking->ranked.is_there)
        return hs_sorted_page__rows(&asking->ranked, descending, asking->skip, asking->limit, rows, error);
    return hs_query__rows(question->store, &question->filter, key_of(hs_question__text(question, "sort_by")),
                          descending, asking->skip, asking->limit, &question->control, rows, error);
}

static void free_rows(void *value)
{
    hs_rows__free(value);
    free(value);
}

static int make_window(void *context, void **value, size_t *bytes, struct hs_error *error)
{
    struct allocations_asking *asking = context;
    struct hs_rows *rows = calloc(1, sizeof(*rows));
    if (!rows)
        return hs_error__set(error, ENOMEM, "out of memory");
    int result = ask_rows(asking, rows, error);
    if (result) {
        free(rows);
        return result;
    }
    *value = rows;
    *bytes = sizeof(*rows) + malloc_usable_size(rows->row);
    return 0;
}

static int find_window(struct allocations_asking *asking, struct page *page, uint64_t skip)
{
    struct hs_question *question = asking->question;
    char *key = NULL;
    void *value = NULL;
    const uint64_t window = window_at(asking->ranked.is_there, skip);
    asking->skip = skip / window * window;
    asking->limit = 2 * window;
    const struct hs_cache_maker maker = {make_window, asking, free_rows};
    if (asprintf(&key, "rows?%s&%s&%llu&%llu&%s", hs_question__text(question, "sort_by"),
                 hs_question__text(question, "order"), (unsigned long long)asking->skip,
                 (unsigned long long)asking->limit, question->filter_text) < 0)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    int result = hs_question__cached(question, question->state, key, &maker, &value);
    free(key);
    page->rows = value;
    page->first = skip - asking->skip;
    return result;
}

static void free_page(void *work)
{
    struct page *page = work;
    hs_rows__free(&page->own);
    free(page);
}

// The least bytes that a block takes in an answer. Without `count`, as many blocks are sent as an answer may hold.
#define BLOCK_LEAST 256

int hs_prepare__allocations(struct hs_question *question)
{
    uint64_t skip = hs_question__number(question, "skip", 0);
    uint64_t count = hs_question__number(question, "count", HS_ANSWER_MOST / BLOCK_LEAST);
    struct page *page = calloc(1, sizeof(*page));
    if (!page)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    question->work = page;
    question->free_work = free_page;
    page->allocator = hs_allocator__of(question->store);
    hs_main_heap__find(question->store, &page->heap);
    struct allocations_asking asking = {.question = question, .skip = skip, .limit = count};
    int result = hs_sorted_page__find(&asking.ranked, question, key_of(hs_question__text(question, "sort_by")));
    if (result)
        return result;
    if (count <= window_at(asking.ranked.is_there, skip)) {
        result = find_window(&asking, page, skip);
    } else {
        result = ask_rows(&asking, &page->own, &question->error);
        page->rows = &page->own;
    }
    if (result)
        return result;
    uint64_t left = page->rows->count > page->first ? page->rows->count - page->first : 0;
    page->count = count < left ? count : left;
    return hs_rest_state__prepare_frame_counts(question->state, &question->error);
}

static void write_end(struct hs_json *json, const char *key, const struct hs_question *question, uint64_t row)
{
    const struct hs_columns *columns = hs_store__columns(question->store);
    uint32_t stack = hs_row__free_stack(columns, row);
    hs_json__open_object(json, key);
    hs_write__time(json, "timestamp", question->store, hs_row__free_time(columns, row));
    hs_json__number(json, "thread", hs_write__thread(question->store, hs_row__free_stream(columns, row)));
    if (stack) {
        hs_json__number(json, "backtrace_id", stack);
        hs_write__backtrace(json, "backtrace", question, stack);
    }
    hs_json__close_object(json);
}

struct place_in_chain {
    const struct hs_chain *chain; // NULL: in none
    uint32_t position, length;
};

static struct place_in_chain place_of(const struct hs_question *question, uint64_t row)
{
    size_t count = 0;
    const struct hs_chain *chains = hs_store__chains(question->store, &count);
    const struct hs_chain_link *link = hs_row__link(hs_store__columns(question->store), row);
    if (!link || link->chain >= count)
        return (struct place_in_chain){NULL, 0, 1};
    return (struct place_in_chain){&chains[link->chain], link->position, chains[link->chain].length};
}

static void write_ends(struct hs_json *json, const struct hs_question *question, uint64_t row,
                       const struct place_in_chain *place)
{
    const struct hs_columns *columns = hs_store__columns(question->store);
    if (hs_row__free_time(columns, row) != HS_NEVER)
        write_end(json, "deallocation", question, row);
    if (place->chain && place->chain->last != row && place->chain->free_time != HS_NEVER)
        write_end(json, "chain_deallocation", question, place->chain->last);
}

static void write_allocation(struct hs_json *json, const struct hs_question *question, const struct page *page,
                             uint64_t row)
{
    const struct hs_store *store = question->store;
    const struct hs_columns *columns = hs_store__columns(store);
    struct place_in_chain place = place_of(question, row);
    bool mapped = page->allocator == HS_ALLOCATOR_GLIBC && hs_allocator__is_mapped(store, row);
    uint32_t slack = hs_row__slack(columns, row);
    hs_json__open_object(json, NULL);
    hs_json__number(json, "id", row);
    hs_json__number(json, "address", hs_row__address(columns, row));
    hs_write__hexadecimal(json, "address_s", hs_row__address(columns, row));
    hs_write__times(json, "timestamp", store, hs_row__time(columns, row));
    hs_json__number(json, "thread", hs_write__thread(store, hs_row__stream(columns, row)));
    hs_json__number(json, "size", hs_row__size(columns, row));
    hs_json__number(json, "backtrace_id", hs_row__stack(columns, row));
    write_ends(json, question, row, &place);
    hs_write__backtrace(json, "backtrace", question, hs_row__stack(columns, row));
    hs_json__boolean(json, "is_mmaped", mapped);
    hs_json__boolean(json, "is_jemalloc", page->allocator == HS_ALLOCATOR_JEMALLOC);
    hs_json__boolean(json, "in_main_arena", hs_main_heap__has(&page->heap, store, row));
    hs_json__number(json, "extra_space", slack);
    if (place.chain) {
        uint64_t end = place.chain->free_time == HS_NEVER ? hs_store__summary(store)->end_time : place.chain->free_time;
        hs_write__interval(json, "chain_lifetime", end - place.chain->first_time);
    }
    hs_json__number(json, "position_in_chain", place.position);
    hs_json__number(json, "chain_length", place.length);
    hs_json__number(json, "usable_size", hs_row__size(columns, row) + slack);
    hs_json__close_object(json);
}

int hs_answer__allocations(struct hs_question *question, FILE *out)
{
    const struct page *page = question->work;
    struct hs_paging paging = hs_paging__start(question, out, page->rows->total);
    const uint64_t skip = paging.at;
    struct hs_json json;
    uint64_t i;
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    hs_json__open_array(&json, "allocations");
    while (hs_paging__next(&paging, &i))
        write_allocation(&json, question, page, page->rows->row[page->first + i - skip]);
    hs_json__close_array(&json);
    hs_json__number(&json, "total_count", page->rows->total);
    hs_paging__end(&paging, &json);
    hs_json__close_object(&json);
    return 0;
}

// ---- addresses alone ------------------------------------------------------------------------------------------------

struct raw {
    struct hs_json json;
    struct hs_question *question;
    struct hs_array_page page;
};

static int write_raw(void *context, const struct hs_store *store, uint64_t row)
{
    struct raw *raw = context;
    size_t count;
    const enum hs_array_page_step step = hs_array_page__next(&raw->page);
    if (step != HS_ARRAY_PAGE_WRITE)
        return step == HS_ARRAY_PAGE_END;
    uint32_t *nodes = hs_write__nodes(raw->question, hs_row__stack(hs_store__columns(store), row), &count);
    hs_json__open_array(&raw->json, "backtrace");
    for (size_t i = 0; nodes && i < count; i++)
        hs_write__hexadecimal(&raw->json, NULL, hs_write__call_address(raw->question, nodes[i]));
    hs_json__close_array(&raw->json);
    free(nodes);
    return ferror(raw->page.out) ? -EPIPE : 0;
}

int hs_answer__raw_allocations(struct hs_question *question, FILE *out)
{
    struct raw raw = {.question = question};
    raw.page = hs_array_page__start(question, out, &raw.json);
    int result = hs_query__each(question->store, NULL, &question->control, write_raw, &raw, &question->error);
    hs_array_page__end(&raw.page);
    return result < 0 ? result : 0;
}
