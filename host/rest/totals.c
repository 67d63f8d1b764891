// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /totals: what matches, added up by functions, libraries, files, lines, threads, sizes, lifetimes or kinds of blocks.
#include "host/base/path.h"
#include "host/report/events.h"
#include "host/rest/answers.h"
#include "host/rest/paging.h"
#include "host/rest/sum_rows.h"
#include "host/rest/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct hs_rest_parameter hs_totals_parameters[] = {
    {.name = "by",
     .kind = HS_REST_CHOICE,
     .choices = HS_SUM_BY_CHOICES,
     .default_value = "function",
     .help = "the kind of rows; a site is the line that requested the memory, as in reports; a requester is the "
             "innermost function that belongs to neither an allocator nor the standard library; sizes and lifetimes "
             "are powers of two"},
    {.name = "file", .kind = HS_REST_TEXT, .help = "only rows whose field source is this file; its whole name"},
    {.name = "contains", .kind = HS_REST_TEXT, .help = "only rows whose name contains this, in upper or lower case"},
    HS_SUM_COST_PARAMETER,
    {.name = "sort_by",
     .kind = HS_REST_CHOICE,
     .choices = "key library " HS_SUM_KEYS("self") " " HS_SUM_KEYS("total"),
     .default_value = "key",
     .help = "the order of the rows"},
    {0},
};

struct totals {
    const struct hs_sum_rows *rows; // held in the cache
    uint32_t *order;
    size_t count;
    const struct hs_question *question;
    bool by_key, by_library, descending;
    struct hs_sum_key key; // neither by_key nor by_library
};

static void free_totals(void *work)
{
    struct totals *totals = work;
    free(totals->order);
    free(totals);
}

// ---- order ----------------------------------------------------------------------------------------------------------

static const char *thread_name(const struct hs_question *question, uint64_t stream)
{
    const struct hs_thread *thread = hs_store__thread(question->store, (uint32_t)stream);
    return thread && thread->name ? thread->name : "";
}

static const char *const kinds[] = {"malloc", "calloc", "aligned", "realloc", "pool", "mmap", "mremap", "brk"};

static const char *name_of(const struct totals *totals, const struct hs_sum_row *row)
{
    switch (totals->rows->by) {
    case HS_SUM_BY_THREAD:
        return thread_name(totals->question, row->number);
    case HS_SUM_BY_KIND:
        return row->number < sizeof(kinds) / sizeof(kinds[0]) ? kinds[row->number] : "";
    default:
        return row->frame ? hs_sum_by__name(totals->rows->by, row->frame) : "";
    }
}

static int compare_names(const struct totals *totals, const struct hs_sum_row *a, const struct hs_sum_row *b)
{
    int names = strcmp(name_of(totals, a), name_of(totals, b));
    if (!names)
        names = (a->number > b->number) - (a->number < b->number);
    return names ? names : (a > b) - (a < b);
}

static const char *library_of(const struct hs_sum_row *row)
{
    return row->frame && row->frame->module ? hs_path__name(row->frame->module) : "";
}

static int compare_values(const struct totals *totals, const struct hs_sum_row *a, const struct hs_sum_row *b,
                          bool of_self)
{
    const struct hs_sum_key key = {of_self, totals->key.by_count, totals->key.cost};
    const uint64_t first = hs_sum_key__value(&key, a), second = hs_sum_key__value(&key, b);
    return (first > second) - (first < second);
}

// Equal ones: those with more of the other sum first, then as they call each other.
static int compare_equal(const struct totals *totals, const struct hs_sum_row *a, const struct hs_sum_row *b)
{
    const int other = compare_values(totals, b, a, !totals->key.of_self);
    if (other)
        return other;
    return a->depth == b->depth ? compare_names(totals, a, b) : a->depth < b->depth ? -1 : 1;
}

static int compare(const void *left, const void *right, void *context)
{
    const struct totals *totals = context;
    const struct hs_sum_row *a = &totals->rows->row[*(const uint32_t *)left];
    const struct hs_sum_row *b = &totals->rows->row[*(const uint32_t *)right];
    const int order = totals->by_key       ? compare_names(totals, a, b)
                      : totals->by_library ? strcmp(library_of(a), library_of(b))
                                           : compare_values(totals, a, b, totals->key.of_self);
    if (order)
        return totals->descending ? -order : order;
    return compare_equal(totals, a, b);
}

static void read_order(struct hs_question *question, struct totals *totals)
{
    const char *word = hs_question__text(question, "sort_by");
    totals->question = question;
    totals->descending = !strcmp(hs_question__text(question, "order"), "dsc");
    totals->by_key = !strcmp(word, "key");
    totals->by_library = !strcmp(word, "library");
    hs_sum_key__read(&totals->key, word);
}

static bool has_source(enum hs_sum_by by, const struct hs_sum_row *row)
{
    return row->frame && by != HS_SUM_BY_LIBRARY && by != HS_SUM_BY_REQUESTER_LIBRARY;
}

static bool is_asked(const struct totals *totals, const struct hs_sum_row *row, const char *contains, const char *file)
{
    const char *own = has_source(totals->rows->by, row) ? row->frame->file : NULL;
    return (!contains || strcasestr(name_of(totals, row), contains)) && (!file || (own && !strcmp(own, file)));
}

int hs_prepare__totals(struct hs_question *question)
{
    struct totals *totals = calloc(1, sizeof(*totals));
    if (!totals)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    question->work = totals;
    question->free_work = free_totals;
    read_order(question, totals);
    const char *contains = hs_question__text(question, "contains"), *file = hs_question__text(question, "file");
    int result = hs_sum_rows__find(question, hs_sum_by__parse(hs_question__text(question, "by")), &totals->rows);
    if (result)
        return result;
    totals->order = malloc((totals->rows->count + 1) * sizeof(*totals->order));
    if (!totals->order)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    for (size_t i = 0; i < totals->rows->count; i++)
        if (is_asked(totals, &totals->rows->row[i], contains, file))
            totals->order[totals->count++] = (uint32_t)i;
    qsort_r(totals->order, totals->count, sizeof(*totals->order), compare, totals);
    return 0;
}

// ---- writing --------------------------------------------------------------------------------------------------------

static void write_frame(struct hs_json *json, const struct totals *totals, const struct hs_sum_row *row)
{
    const struct hs_frame *frame = row->frame;
    hs_json__string(json, "library", frame->module && *frame->module ? hs_path__name(frame->module) : NULL);
    if (!has_source(totals->rows->by, row))
        return;
    hs_json__string(json, "source", frame->file);
    if (hs_sum_by__has_line(totals->rows->by))
        hs_json__number(json, "line", row->number);
}

// The bounds of a power of two: [from, to). What was never freed has none.
static void write_bounds(struct hs_json *json, uint64_t power)
{
    if (power > 64) {
        hs_json__null(json, "from");
        hs_json__null(json, "to");
        return;
    }
    hs_json__number(json, "from", power ? (uint64_t)1 << (power - 1) : 0);
    if (power < 64)
        hs_json__number(json, "to", (uint64_t)1 << power);
    else
        hs_json__null(json, "to");
}

static void write_row(struct hs_json *json, const struct totals *totals, const struct hs_sum_row *row)
{
    char *memory = NULL;
    const enum hs_sum_by by = totals->rows->by;
    const char *name = name_of(totals, row);
    hs_json__open_object(json, NULL);
    hs_json__string(json, "key",
                    by == HS_SUM_BY_FUNCTION || by == HS_SUM_BY_SITE || by == HS_SUM_BY_REQUESTER ||
                            by == HS_SUM_BY_REQUESTER_LINE
                        ? hs_write__function(totals->question, name, &memory)
                        : name);
    free(memory);
    if (row->frame)
        write_frame(json, totals, row);
    else if (by == HS_SUM_BY_THREAD)
        hs_json__number(json, "thread", hs_write__thread(totals->question->store, (uint32_t)row->number));
    else if (by != HS_SUM_BY_KIND)
        write_bounds(json, row->number);
    hs_sum_rows__write(json, "self", totals->rows, row->self);
    hs_sum_rows__write(json, "total", totals->rows, row->total);
    hs_json__close_object(json);
}

int hs_answer__totals(struct hs_question *question, FILE *out)
{
    const struct totals *totals = question->work;
    struct hs_json json;
    struct hs_paging paging = hs_paging__start(question, out, totals->count);
    uint64_t i;
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    hs_json__string(&json, "by", hs_question__text(question, "by"));
    hs_json__number(&json, "total_count", totals->count);
    hs_sum_rows__write(&json, "sum", totals->rows, totals->rows->sum);
    hs_json__open_array(&json, "rows");
    while (hs_paging__next(&paging, &i))
        write_row(&json, totals, &totals->rows->row[totals->order[i]]);
    hs_json__close_array(&json);
    hs_paging__end(&paging, &json);
    hs_json__close_object(&json);
    return 0;
}
