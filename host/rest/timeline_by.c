// SPDX-License-Identifier: MIT OR Apache-2.0
//
// /timeline_by: what was live when each of equal intervals ended, by who had allocated it. The series and what is left
// over add up to what all blocks that match had then.
#include "host/base/path.h"
#include "host/query/match.h"
#include "host/query/scan.h"
#include "host/rest/answers.h"
#include "host/rest/sum_rows.h"
#include "host/rest/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct hs_rest_parameter hs_timeline_by_parameters[] = {
    HS_AXIS_PARAMETERS,
    {.name = "width",
     .kind = HS_REST_NUMBER,
     .least = 1,
     .most = 10000,
     .default_value = "500",
     .help = "the number of intervals, such as the pixels of a picture"},
    {.name = "by",
     .kind = HS_REST_CHOICE,
     .choices = HS_SUM_BY_FRAME_CHOICES "thread",
     .default_value = "library",
     .help = "the kind of series, as in totals; callers are not counted"},
    {.name = "top",
     .kind = HS_REST_NUMBER,
     .least = 1,
     .most = 100,
     .default_value = "10",
     .help = "this many series, those with the most memory at the peak or at the end; the rest is one series"},
    {0},
};

enum { NOT_KNOWN = UINT8_MAX };

struct series {
    const char *text; // of frames
    uint64_t number;  // of a line, or of a thread: its stream
    const struct hs_frame *frame;
};

struct timeline_by_work {
    enum hs_sum_by by;
    uint64_t from, to, width;
    size_t points, count; // the series, without the rest after them
    struct series series[100];
    int64_t *bytes, *blocks; // by series and point: what changed, then what is there
    uint8_t *of;             // by stack: its series
    size_t stacks;
    struct hs_trace_symbols *symbols;
};

static void free_work(void *memory)
{
    struct timeline_by_work *work = memory;
    free(work->bytes);
    free(work->blocks);
    free(work->of);
    free(work);
}

// ---- the series -----------------------------------------------------------------------------------------------------

static uint64_t weight(const struct hs_sum_row *row)
{
    const uint64_t peak = row->self[HS_COST_PEAK].bytes, live = row->self[HS_COST_LIVE].bytes;
    return peak > live ? peak : live;
}

static int compare(const void *left, const void *right)
{
    const struct hs_sum_row *a = *(struct hs_sum_row *const *)left, *b = *(struct hs_sum_row *const *)right;
    const uint64_t first = weight(a), second = weight(b);
    if (first != second)
        return first > second ? -1 : 1;
    const uint64_t all = a->self[HS_COST_ALLOCATED].bytes, other = b->self[HS_COST_ALLOCATED].bytes;
    return all != other ? (all > other ? -1 : 1) : (a > b) - (a < b);
}

static int choose_series(struct hs_question *question, struct timeline_by_work *work)
{
    struct hs_sum_rows rows = {
        .by = work->by, .costs = 1u << HS_COST_PEAK | 1u << HS_COST_LIVE | 1u << HS_COST_ALLOCATED, .self_only = true};
    const size_t top = hs_question__number(question, "top", 10);
    int result = work->by == HS_SUM_BY_THREAD ? hs_sum_rows__of_blocks(&rows, question)
                                              : hs_sum_rows__of_frames(&rows, question);
    struct hs_sum_row **order = result ? NULL : malloc((rows.count + 1) * sizeof(*order));
    if (!result && !order)
        result = hs_error__set(&question->error, ENOMEM, "out of memory");
    size_t count = 0;
    for (size_t i = 0; order && i < rows.count; i++)
        if (rows.row[i].self[HS_COST_ALLOCATED].count)
            order[count++] = &rows.row[i];
    if (order)
        qsort(order, count, sizeof(*order), compare);
    for (size_t i = 0; i < count && i < top; i++)
        work->series[work->count++] =
            (struct series){.text = order[i]->frame ? hs_sum_by__text(work->by, order[i]->frame) : NULL,
                            .number = order[i]->number,
                            .frame = order[i]->frame};
    free(order);
    hs_sum_rows__free(&rows);
    return result;
}

// ---- adding up ------------------------------------------------------------------------------------------------------

static size_t series_of_stack(const struct timeline_by_work *work, uint32_t stack)
{
    size_t i = 0;
    const struct hs_frame *frame = hs_sum_by__frame(work->by, work->symbols, stack);
    const char *text = frame ? hs_sum_by__text(work->by, frame) : NULL;
    const uint64_t number = frame ? hs_sum_by__number(work->by, frame) : 0;
    while (i < work->count && (!text || work->series[i].text != text || work->series[i].number != number))
        i++;
    return i;
}

// `owner` is a stack or, of threads, a stream. Several threads may find out the same at once.
static size_t series_of(const struct timeline_by_work *work, uint64_t owner)
{
    if (work->by == HS_SUM_BY_THREAD) {
        size_t i = 0;
        while (i < work->count && work->series[i].number != owner)
            i++;
        return i;
    }
    if (owner >= work->stacks)
        return work->count;
    uint8_t series = __atomic_load_n(&work->of[owner], __ATOMIC_RELAXED);
    if (series == NOT_KNOWN) {
        series = (uint8_t)series_of_stack(work, (uint32_t)owner);
        __atomic_store_n(&work->of[owner], series, __ATOMIC_RELAXED);
    }
    return series;
}

// Results of one thread of a scan.
struct timeline_by_looker {
    struct hs_matcher *matcher;
    int64_t *bytes, *blocks;
};

struct timeline_by_looking {
    const struct timeline_by_work *work;
    struct timeline_by_looker *looker; // by worker
    unsigned workers;
};

static void change(const struct timeline_by_work *work, struct timeline_by_looker *looker, size_t series, uint64_t time,
                   int64_t bytes, int64_t blocks)
{
    const uint64_t after = time > work->from ? time - work->from : 0;
    const size_t at = series * work->points + after / work->width;
    looker->bytes[at] += bytes;
    looker->blocks[at] += blocks;
}

static void take_block(const struct timeline_by_work *work, struct timeline_by_looker *looker, size_t count)
{
    struct hs_column_block *block = &looker->matcher->block;
    const bool by_thread = work->by == HS_SUM_BY_THREAD;
    const uint64_t *time = hs_column_block__column(block, HS_BLOCK_TIME),
                   *end = hs_column_block__column(block, HS_BLOCK_FREE_TIME);
    const uint64_t *size = hs_column_block__column(block, HS_BLOCK_SIZE);
    const uint64_t *owner = hs_column_block__column(block, by_thread ? HS_BLOCK_STREAM : HS_BLOCK_STACK);
    for (size_t n = 0; n < count; n++) {
        const size_t i = looker->matcher->place[n];
        if (time[i] > work->to)
            continue;
        const size_t series = series_of(work, owner[i]);
        change(work, looker, series, time[i], (int64_t)size[i], 1);
        if (end[i] <= work->to)
            change(work, looker, series, end[i], -(int64_t)size[i], -1);
    }
}

static int look_at_rows(void *context, unsigned worker, uint64_t first, uint64_t end)
{
    const struct timeline_by_looking *looking = context;
    struct timeline_by_looker *looker = &looking->looker[worker];
    for (uint64_t row = first; row < end; row += HS_PACKED_BLOCK) {
        const size_t count = hs_matcher__match(looker->matcher, row / HS_PACKED_BLOCK);
        if (count)
            take_block(looking->work, looker, count);
    }
    return 0;
}

static void add_lookers(struct timeline_by_work *work, const struct timeline_by_looking *looking)
{
    const size_t places = (work->count + 1) * work->points;
    for (unsigned worker = 0; worker < looking->workers; worker++)
        for (size_t i = 0; i < places; i++) {
            work->bytes[i] += looking->looker[worker].bytes[i];
            work->blocks[i] += looking->looker[worker].blocks[i];
        }
}

static int look(struct hs_question *question, struct timeline_by_work *work, struct timeline_by_looking *looking)
{
    const size_t places = (work->count + 1) * work->points;
    const struct hs_scan scan = {.store = question->store,
                                 .filter = &question->filter,
                                 .control = &question->control,
                                 .workers = looking->workers,
                                 .work = look_at_rows,
                                 .context = looking};
    for (unsigned worker = 0; looking->looker && worker < looking->workers; worker++) {
        struct timeline_by_looker *looker = &looking->looker[worker];
        looker->matcher = hs_matcher__create(question->store, &question->filter);
        looker->bytes = calloc(places, sizeof(*looker->bytes));
        looker->blocks = calloc(places, sizeof(*looker->blocks));
        if (!looker->matcher || !looker->bytes || !looker->blocks)
            return hs_error__set(&question->error, ENOMEM, "out of memory");
    }
    if (!looking->looker)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    return hs_scan__run(&scan, &question->error);
}

static int add_rows(struct hs_question *question, struct timeline_by_work *work)
{
    if (hs_store__summary(question->store)->is_aggregate)
        return hs_query__refuse_aggregate(&question->error);
    struct timeline_by_looking looking = {.work = work,
                                          .workers = hs_scan__workers(question->store, &question->control)};
    looking.looker = calloc(looking.workers, sizeof(*looking.looker));
    int result = look(question, work, &looking);
    if (!result)
        add_lookers(work, &looking);
    for (unsigned worker = 0; looking.looker && worker < looking.workers; worker++) {
        hs_matcher__destroy(looking.looker[worker].matcher);
        free(looking.looker[worker].bytes);
        free(looking.looker[worker].blocks);
    }
    free(looking.looker);
    return result;
}

static void add_along(const struct timeline_by_work *work, int64_t *values)
{
    for (size_t series = 0; series <= work->count; series++)
        for (size_t i = 1; i < work->points; i++)
            values[series * work->points + i] += values[series * work->points + i - 1];
}

static int make_room(struct hs_question *question, struct timeline_by_work *work)
{
    size_t nodes = 0;
    hs_store__nodes(question->store, &nodes);
    work->stacks = nodes;
    work->of = malloc(nodes + 1);
    work->bytes = calloc((work->count + 1) * work->points, sizeof(*work->bytes));
    work->blocks = calloc((work->count + 1) * work->points, sizeof(*work->blocks));
    if (!work->of || !work->bytes || !work->blocks)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    memset(work->of, NOT_KNOWN, nodes + 1);
    return 0;
}

int hs_prepare__timeline_by(struct hs_question *question)
{
    struct timeline_by_work *work = calloc(1, sizeof(*work));
    if (!work)
        return hs_error__set(&question->error, ENOMEM, "out of memory");
    question->work = work;
    question->free_work = free_work;
    work->by = hs_sum_by__parse(hs_question__text(question, "by"));
    work->symbols = question->symbols;
    work->to = hs_store__summary(question->store)->end_time;
    int result = hs_question__axis(question, &work->from, &work->to);
    if (result)
        return result;
    work->points = hs_question__number(question, "width", 500);
    work->width = (work->to - work->from) / work->points + 1;
    work->points = (work->to - work->from) / work->width + 1;
    result = choose_series(question, work);
    if (!result)
        result = make_room(question, work);
    if (!result)
        result = add_rows(question, work);
    if (!result) {
        add_along(work, work->bytes);
        add_along(work, work->blocks);
    }
    return result;
}

// ---- writing --------------------------------------------------------------------------------------------------------

static void write_points(struct hs_json *json, const char *key, const struct timeline_by_work *work,
                         const int64_t *values, size_t series)
{
    hs_json__open_array(json, key);
    for (size_t i = 0; i < work->points; i++)
        hs_json__signed(json, NULL, values[series * work->points + i]);
    hs_json__close_array(json);
}

static void write_name(struct hs_json *json, const struct hs_question *question, const struct timeline_by_work *work,
                       size_t number)
{
    const struct series *series = &work->series[number];
    const struct hs_frame *frame = series->frame;
    const struct hs_thread *thread = frame ? NULL : hs_store__thread(question->store, (uint32_t)series->number);
    if (!frame) {
        hs_json__string(json, "key", thread && thread->name ? thread->name : "");
        hs_json__number(json, "thread", hs_write__thread(question->store, (uint32_t)series->number));
        return;
    }
    hs_json__string(json, "key", hs_sum_by__name(work->by, frame));
    hs_json__string(json, "library", frame->module && *frame->module ? hs_path__name(frame->module) : NULL);
    if (!hs_sum_by__has_line(work->by))
        return;
    hs_json__string(json, "source", frame->file);
    hs_json__number(json, "line", series->number);
}

static void write_series(struct hs_json *json, const struct timeline_by_work *work, size_t number)
{
    write_points(json, "size", work, work->bytes, number);
    write_points(json, "count", work, work->blocks, number);
    hs_json__close_object(json);
}

int hs_answer__timeline_by(struct hs_question *question, FILE *out)
{
    const struct timeline_by_work *work = question->work;
    struct hs_json json;
    hs_json__start(&json, out, false);
    hs_json__open_object(&json, NULL);
    hs_json__string(&json, "by", hs_question__text(question, "by"));
    hs_json__number(&json, "start_ns", work->from);
    hs_json__number(&json, "interval_ns", work->width);
    hs_json__number(&json, "end_ns", work->to);
    hs_json__open_array(&json, "series");
    for (size_t i = 0; i < work->count; i++) {
        hs_json__open_object(&json, NULL);
        write_name(&json, question, work, i);
        write_series(&json, work, i);
    }
    hs_json__close_array(&json);
    hs_json__open_object(&json, "rest");
    write_series(&json, work, work->count);
    hs_json__close_object(&json);
    return 0;
}
