// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /timeline, /timeline_leaked, /timeline_maps, /timeline_usage: what was there over time, in equal intervals; with
// era=0.1 in seconds, as the first recorders of this family had it (timeline_seconds.c).
#include "host/query/usage.h"
#include "host/rest/answers.h"
#include "host/rest/timeline_seconds.h"
#include "host/rest/write.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

const struct hs_rest_parameter hs_timeline_parameters[] = {
    HS_AXIS_PARAMETERS,
    {.name = "width",
     .kind = HS_REST_NUMBER,
     .least = 1,
     .most = 100000,
     .default_value = "1000",
     .help = "the number of intervals, such as the pixels of a picture"},
    {0},
};

struct timelines_work {
    const struct hs_timeline *timeline; // held in the cache
    uint64_t to;
    struct hs_seconds seconds;
    struct hs_usage usage; // on the intervals of the timeline
};

static void free_work(void *memory)
{
    struct timelines_work *work = memory;
    hs_seconds__free(&work->seconds);
    hs_usage__free(&work->usage);
    free(work);
}

struct timelines_drawing {
    struct hs_question *question;
    bool restricted;
    uint64_t from, to, width;
};

static void free_timeline(void *value)
{
    hs_timeline__free(value);
    free(value);
}

static int draw(void *context, void **value, size_t *bytes, struct hs_error *error)
{
    const struct timelines_drawing *drawing = context;
    const struct hs_question *question = drawing->question;
    struct hs_timeline *timeline = calloc(1, sizeof(*timeline));
    if (!timeline)
        return hs_error__set(error, ENOMEM, "out of memory");
    int result = hs_query__timeline(question->store, drawing->restricted ? &question->filter : NULL, drawing->from,
                                    drawing->to, drawing->width, &question->control, timeline, error);
    if (result) {
        free(timeline);
        return result;
    }
    *value = timeline;
    *bytes = sizeof(*timeline) + timeline->count * sizeof(*timeline->point);
    return 0;
}

static int find_timeline(struct timelines_drawing *drawing, const struct hs_timeline **timeline)
{
    struct hs_question *question = drawing->question;
    const struct hs_cache_maker maker = {draw, drawing, free_timeline};
    char *key = NULL;
    void *value = NULL;
    if (asprintf(&key, "timeline?%u&%d&%llu&%llu&%llu&%s", question->filter.domains, question->filter.never_freed_only,
                 (unsigned long long)drawing->from, (unsigned long long)drawing->to, (unsigned long long)drawing->width,
                 drawing->restricted && question->filter_text ? question->filter_text : "") < 0)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    int result = hs_question__cached(question, question->state, key, &maker, &value);
    free(key);
    *timeline = value;
    return result;
}

static bool is_of_first_era(const struct hs_question *question)
{
    const char *era = hs_uri__value(&question->uri, "era");
    return era && !strcmp(era, "0.1");
}

static int prepare(struct hs_question *question, bool restricted, bool by_seconds)
{
    struct timelines_work *work = calloc(1, sizeof(*work));
    uint64_t from = 0, to = hs_store__summary(question->store)->end_time;
    if (!work)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    question->work = work;
    question->free_work = free_work;
    if (by_seconds)
        return hs_seconds__make(&work->seconds, question->store, restricted ? &question->filter : NULL,
                                &question->control, &question->error);
    int result = hs_question__axis(question, &from, &to);
    work->to = to;
    // Without a filter the pyramid has the answer.
    struct timelines_drawing drawing = {question, restricted, from, to, hs_question__number(question, "width", 1000)};
    return result ? result : find_timeline(&drawing, &work->timeline);
}

static int add_usage(struct hs_question *question, const struct hs_filter *filter)
{
    struct timelines_work *work = question->work;
    return hs_query__usage(question->store, filter, work->timeline->from, work->timeline->width, work->timeline->count,
                           &question->control, &work->usage, &question->error);
}

int hs_prepare__timeline(struct hs_question *question)
{
    return prepare(question, question->restricted, is_of_first_era(question));
}

int hs_prepare__timeline_leaked(struct hs_question *question)
{
    question->filter.never_freed_only = true;
    return prepare(question, true, is_of_first_era(question));
}

int hs_prepare__timeline_maps(struct hs_question *question)
{
    hs_filter__init(&question->filter);
    question->filter.domains = HS_FILTER_MAP;
    int result = prepare(question, true, false);
    return result ? result : add_usage(question, NULL);
}

int hs_prepare__timeline_usage(struct hs_question *question)
{
    int result = prepare(question, question->restricted, false);
    return result ? result : add_usage(question, question->restricted ? &question->filter : NULL);
}

// ---- writing --------------------------------------------------------------------------------------------------------

// The points, and one more at the end, after the last change.
static size_t count_points(const struct timelines_work *work)
{
    const struct hs_timeline *timeline = work->timeline;
    size_t count = timeline->count;
    while (count > 1 && timeline->from + (count - 1) * timeline->width > work->to)
        count--;
    return count + 1;
}

// One of the columns of the points; its value at the end is another one's, or the same: then it is 0 there.
struct timelines_column {
    const void *point;
    size_t stride, member, member_at_end;
    bool stays; // its last value is that of the end
};

static uint64_t at(const struct timelines_work *work, size_t i, const struct timelines_column *column)
{
    bool is_end = i + 1 == count_points(work);
    const char *point = (const char *)column->point + (is_end ? i - 1 : i) * column->stride;
    if (is_end && !column->stays && column->member == column->member_at_end)
        return 0;
    return *(const uint64_t *)(point + (is_end ? column->member_at_end : column->member));
}

#define HEAP(work, member, at_end)                                                                                     \
    (&(const struct timelines_column){(work)->timeline->point, sizeof(struct hs_timeline_point),                       \
                                      offsetof(struct hs_timeline_point, member),                                      \
                                      offsetof(struct hs_timeline_point, at_end), false})
#define ENDS(work, member)                                                                                             \
    (&(const struct timelines_column){(work)->timeline->point, sizeof(struct hs_timeline_point),                       \
                                      offsetof(struct hs_timeline_point, member),                                      \
                                      offsetof(struct hs_timeline_point, member), true})
#define USAGE(work, member, at_end)                                                                                    \
    (&(const struct timelines_column){(work)->usage.point, sizeof(struct hs_usage_point),                              \
                                      offsetof(struct hs_usage_point, member),                                         \
                                      offsetof(struct hs_usage_point, at_end), false})

static void write_times(struct hs_json *json, const struct hs_question *question, const struct timelines_work *work)
{
    size_t count = count_points(work);
    hs_json__open_array(json, "xs");
    for (size_t i = 0; i < count; i++) {
        uint64_t time = i + 1 == count ? work->to : work->timeline->from + i * work->timeline->width;
        hs_json__number(json, NULL, hs_store__realtime_ns(question->store, time) / 1000000);
    }
    hs_json__close_array(json);
}

static void write_axis(struct hs_json *json, const struct timelines_work *work)
{
    hs_json__number(json, "start_ns", work->timeline->from);
    hs_json__number(json, "interval_ns", work->timeline->width);
    hs_json__number(json, "end_ns", work->to);
}

static void write_values(struct hs_json *json, const char *key, const struct timelines_work *work,
                         const struct timelines_column *column)
{
    size_t count = count_points(work);
    hs_json__open_array(json, key);
    for (size_t i = 0; i < count; i++)
        hs_json__number(json, NULL, at(work, i, column));
    hs_json__close_array(json);
}

static void write_deltas(struct hs_json *json, const char *key, const struct timelines_work *work,
                         const struct timelines_column *column)
{
    size_t count = count_points(work);
    uint64_t before = 0;
    hs_json__open_array(json, key);
    for (size_t i = 0; i < count; i++) {
        uint64_t value = at(work, i, column);
        hs_json__signed(json, NULL, (int64_t)(value - before));
        before = value;
    }
    hs_json__close_array(json);
}

int hs_answer__timeline(struct hs_question *question, FILE *out)
{
    const struct timelines_work *work = question->work;
    struct hs_json json;
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    if (is_of_first_era(question)) {
        hs_seconds__write(&json, &work->seconds);
        hs_json__close_object(&json);
        return 0;
    }
    write_times(&json, question, work);
    write_deltas(&json, "size_delta", work, HEAP(work, live_bytes_max, live_bytes_end));
    write_deltas(&json, "count_delta", work, HEAP(work, live_count_max, live_count_end));
    write_values(&json, "allocated_size", work, HEAP(work, live_bytes_max, live_bytes_end));
    write_values(&json, "allocated_count", work, HEAP(work, live_count_max, live_count_end));
    write_values(&json, "allocations", work, HEAP(work, allocated_count, allocated_count));
    write_values(&json, "deallocations", work, HEAP(work, freed_count, freed_count));
    write_axis(&json, work);
    write_values(&json, "end_size", work, ENDS(work, live_bytes_end));
    write_values(&json, "end_count", work, ENDS(work, live_count_end));
    write_values(&json, "bytes_in", work, HEAP(work, allocated_bytes, allocated_bytes));
    write_values(&json, "bytes_out", work, HEAP(work, freed_bytes, freed_bytes));
    hs_json__close_object(&json);
    return 0;
}

static void write_nulls(struct hs_json *json, const char *key, const struct timelines_work *work)
{
    hs_json__open_array(json, key);
    for (size_t i = 0; i < count_points(work); i++)
        hs_json__null(json, NULL);
    hs_json__close_array(json);
}

int hs_answer__timeline_maps(struct hs_question *question, FILE *out)
{
    static const char *const unknown[] = {"anonymous", "dirty", "clean", "swap"};
    const struct timelines_work *work = question->work;
    struct hs_json json;
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    write_times(&json, question, work);
    write_values(&json, "address_space", work, HEAP(work, live_bytes_max, live_bytes_end));
    if (hs_events__are_in(HS_EVENTS_TOUCHED_MAPPINGS, question->store))
        write_values(&json, "rss", work, USAGE(work, resident_bytes_max, resident_bytes_end));
    else
        write_nulls(&json, "rss", work);
    for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++)
        write_nulls(&json, unknown[i], work);
    write_axis(&json, work);
    hs_json__close_object(&json);
    return 0;
}

// Unknown values are null: not recorded, or not available with this filter.
static void write_usage(struct hs_json *json, const char *key, bool known, const struct timelines_work *work,
                        const struct timelines_column *column)
{
    if (known)
        write_values(json, key, work, column);
    else
        hs_json__null(json, key);
}

int hs_answer__timeline_usage(struct hs_question *question, FILE *out)
{
    const struct timelines_work *work = question->work;
    bool has_cpu = hs_events__are_in(HS_EVENTS_CPU, question->store) && !question->not_of_samples;
    bool has_memory = hs_events__are_in(HS_EVENTS_TOUCHED, question->store) && !question->restricted;
    struct hs_json json;
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    write_times(&json, question, work);
    hs_json__number(&json, "interval_ns", work->timeline->width);
    write_usage(&json, "cpu_ns", has_cpu, work, USAGE(work, cpu_ns, cpu_ns));
    write_usage(&json, "cpu_samples", has_cpu, work, USAGE(work, cpu_samples, cpu_samples));
    write_values(&json, "heap_size", work, HEAP(work, live_bytes_max, live_bytes_end));
    write_usage(&json, "resident_size", has_memory, work, USAGE(work, resident_bytes_max, resident_bytes_end));
    write_usage(&json, "faulted_size", has_memory, work, USAGE(work, faulted_bytes, faulted_bytes));
    hs_json__string(&json, "perf", hs_store__info(question->store, "perf"));
    hs_json__close_object(&json);
    return 0;
}
