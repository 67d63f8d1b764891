// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /peak: when what matches was largest; /generations: what was allocated between two marks, and what became of it.
#include "host/base/search.h"
#include "host/query/scan.h"
#include "host/rest/answers.h"
#include "host/rest/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// ---- /peak ----------------------------------------------------------------------------------------------------------

struct peak {
    struct hs_live_total total;
    uint64_t time;
};

const struct hs_rest_parameter hs_peak_parameters[] = {
    {.name = "axis_from", .kind = HS_REST_TIME, .help = "the largest value at this time or later; default the start"},
    {.name = "axis_to", .kind = HS_REST_TIME, .help = "the largest value at this time or earlier; default the end"},
    {0},
};

struct peak_finding {
    struct hs_question *question;
    bool in_part;
    uint64_t from, to; // the part of the time
};

// Blocks that were live in the part of the time. Before and after it, no more of them were live than at its ends.
static struct hs_filter filter_of(const struct peak_finding *finding)
{
    struct hs_filter filter = finding->question->filter;
    if (finding->from && filter.free_min <= finding->from)
        filter.free_min = finding->from + 1;
    if (filter.time_max > finding->to)
        filter.time_max = finding->to;
    return filter;
}

static int find_peak(void *context, void **value, size_t *bytes, struct hs_error *error)
{
    const struct peak_finding *finding = context;
    const struct hs_question *question = finding->question;
    const struct hs_filter filter = finding->in_part ? filter_of(finding) : question->filter;
    struct peak *peak = calloc(1, sizeof(*peak));
    if (!peak)
        return hs_error__set(error, ENOMEM, "out of memory");
    int result = hs_query__peak(question->store, finding->in_part || question->restricted ? &filter : NULL,
                                &question->control, &peak->total, &peak->time, error);
    if (peak->time < finding->from)
        peak->time = finding->from;
    *value = peak;
    *bytes = sizeof(*peak);
    if (result) {
        free(peak);
        *value = NULL;
    }
    return result;
}

int hs_prepare__peak(struct hs_question *question)
{
    char *key = NULL;
    struct peak_finding finding = {.question = question, .to = HS_NEVER - 1};
    const struct hs_cache_maker maker = {find_peak, &finding, free};
    finding.in_part = hs_uri__value(&question->uri, "axis_from") || hs_uri__value(&question->uri, "axis_to");
    int result = finding.in_part ? hs_question__axis(question, &finding.from, &finding.to) : 0;
    if (!result && finding.in_part && hs_store__summary(question->store)->is_aggregate)
        result = hs_query__refuse_aggregate(&question->error);
    if (result)
        return result;
    if (asprintf(&key, "peak?%s&%llu-%llu", question->filter_text, (unsigned long long)finding.from,
                 (unsigned long long)finding.to) < 0)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    result = hs_question__cached(question, question->state, key, &maker, &question->work);
    free(key);
    return result;
}

int hs_answer__peak(struct hs_question *question, FILE *out)
{
    const struct peak *peak = question->work;
    struct hs_json json;
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    hs_write__times(&json, "timestamp", question->store, peak->time);
    hs_json__number(&json, "size", peak->total.bytes);
    hs_json__number(&json, "usable_size", peak->total.usable);
    hs_json__number(&json, "count", peak->total.count);
    hs_json__close_object(&json);
    return 0;
}

// ---- /generations ---------------------------------------------------------------------------------------------------

const struct hs_rest_parameter hs_generations_parameters[] = {
    {.name = "parts",
     .kind = HS_REST_NUMBER,
     .least = 1,
     .most = 10000,
     .help = "divide the time into this many equal parts, in place of the parts between marks"},
    {0},
};

struct amount {
    uint64_t bytes, count;
};

struct generation {
    uint64_t from; // until the next one
    const char *text;
    int64_t value;
    struct amount allocated, at_its_end, at_the_end;
};

struct generations {
    struct generation *generation;
    size_t count;
};

static void free_generations(void *work)
{
    struct generations *generations = work;
    free(generations->generation);
    free(generations);
}

static uint64_t end_of(const struct generations *generations, const struct hs_store *store, size_t i)
{
    return i + 1 < generations->count ? generations->generation[i + 1].from : hs_store__summary(store)->end_time;
}

static void add(struct amount *amount, uint64_t size)
{
    amount->bytes += size;
    amount->count++;
}

static int add_row(void *context, const struct hs_store *store, uint64_t row)
{
    struct generations *generations = context;
    const struct hs_columns *columns = hs_store__columns(store);
    uint64_t time = hs_row__time(columns, row), freed = hs_row__free_time(columns, row);
    uint64_t size = hs_row__size(columns, row);
    const size_t low = HS_SEARCH_LAST(generations->count, i, generations->generation[i].from <= time);
    struct generation *generation = &generations->generation[low];
    add(&generation->allocated, size);
    if (freed > end_of(generations, store, low))
        add(&generation->at_its_end, size);
    if (freed == HS_NEVER)
        add(&generation->at_the_end, size);
    return 0;
}

static void list_marks(struct generations *generations, const struct hs_side_event *events, size_t count)
{
    generations->generation[generations->count++] = (struct generation){.text = NULL};
    for (size_t i = 0; i < count; i++)
        if (events[i].kind == HS_SIDE_MARK)
            generations->generation[generations->count++] =
                (struct generation){.from = events[i].time, .text = events[i].text, .value = events[i].value};
}

static int compare(const void *left, const void *right)
{
    const struct generation *a = left, *b = right;
    return (a->from > b->from) - (a->from < b->from);
}

static void list_parts(struct generations *generations, uint64_t parts, uint64_t end)
{
    for (uint64_t i = 0; i < parts; i++)
        generations->generation[generations->count++] =
            (struct generation){.from = (uint64_t)((double)end * (double)i / (double)parts)};
}

int hs_prepare__generations(struct hs_question *question)
{
    size_t marks = 0;
    uint64_t parts = hs_question__number(question, "parts", 0);
    const struct hs_side_event *events = hs_store__side_events(question->store, &marks);
    struct generations *generations = calloc(1, sizeof(*generations));
    if (!generations)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    question->work = generations;
    question->free_work = free_generations;
    generations->generation = calloc(marks + parts + 1, sizeof(*generations->generation));
    if (!generations->generation)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    if (parts)
        list_parts(generations, parts, hs_store__summary(question->store)->end_time);
    else
        list_marks(generations, events, marks);
    qsort(generations->generation, generations->count, sizeof(*generations->generation), compare);
    return hs_query__each(question->store, &question->filter, &question->control, add_row, generations,
                          &question->error);
}

static void write_amount(struct hs_json *json, const char *key, const struct amount *amount)
{
    hs_json__open_object(json, key);
    hs_json__number(json, "size", amount->bytes);
    hs_json__number(json, "count", amount->count);
    hs_json__close_object(json);
}

int hs_answer__generations(struct hs_question *question, FILE *out)
{
    const struct generations *generations = question->work;
    struct hs_json json;
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    hs_json__open_array(&json, "generations");
    for (size_t i = 0; i < generations->count; i++) {
        const struct generation *generation = &generations->generation[i];
        hs_json__open_object(&json, NULL);
        hs_write__times(&json, "from", question->store, generation->from);
        hs_write__times(&json, "to", question->store, end_of(generations, question->store, i));
        hs_json__string(&json, "mark", generation->text);
        hs_json__signed(&json, "value", generation->value);
        write_amount(&json, "allocated", &generation->allocated);
        write_amount(&json, "there_at_its_end", &generation->at_its_end);
        write_amount(&json, "there_at_the_end", &generation->at_the_end);
        hs_json__close_object(&json);
    }
    hs_json__close_array(&json);
    hs_json__close_object(&json);
    return 0;
}
