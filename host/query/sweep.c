// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Answers that need allocations and frees in the order of time: exact timelines and peaks. The matching rows are in the
// order of allocation already; a second order by free time is sorted here, and both are walked together.
#include "host/query/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct sweep {
    const struct hs_columns *columns;
    struct hs_rows alloc; // by time
    uint32_t *freed;      // the freed ones, by free time
    size_t freed_count;
};

// At one instant a row that was freed there comes before the rows allocated there, except a row's own allocation.
static int compare_free(const void *left, const void *right, void *context)
{
    const struct hs_columns *columns = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    uint64_t x = hs_row__free_time(columns, a), y = hs_row__free_time(columns, b);
    if (x != y)
        return x < y ? -1 : 1;
    return (a > b) - (a < b);
}

static int open_sweep(struct sweep *sweep, const struct hs_store *store, const struct hs_filter *filter,
                      const struct hs_query_control *control, struct hs_error *error)
{
    *sweep = (struct sweep){.columns = hs_store__columns(store)};
    int failed = hs_query__rows(store, filter, HS_ROW_BY_TIME, false, 0, UINT64_MAX, control, &sweep->alloc, error);
    if (failed)
        return failed;
    sweep->freed = malloc((sweep->alloc.count + 1) * sizeof *sweep->freed);
    if (!sweep->freed) {
        hs_rows__free(&sweep->alloc);
        return hs_error__set(error, ENOMEM, "query: out of memory");
    }
    for (size_t i = 0; i < sweep->alloc.count; i++)
        if (hs_row__free_time(sweep->columns, sweep->alloc.row[i]) != HS_NEVER)
            sweep->freed[sweep->freed_count++] = sweep->alloc.row[i];
    if (sweep->freed_count)
        qsort_r(sweep->freed, sweep->freed_count, sizeof *sweep->freed, compare_free, (void *)sweep->columns);
    return 0;
}

static void close_sweep(struct sweep *sweep)
{
    free(sweep->freed);
    hs_rows__free(&sweep->alloc);
}

// Takes the next step: returns its row, *is_free tells which end of it. False at the end.
static bool next_step(const struct sweep *sweep, size_t *alloc, size_t *freed, uint32_t *row, bool *is_free)
{
    const struct hs_columns *columns = sweep->columns;
    bool more_alloc = *alloc < sweep->alloc.count, more_freed = *freed < sweep->freed_count;
    if (!more_alloc && !more_freed)
        return false;
    *is_free = more_freed;
    if (more_alloc && more_freed) {
        uint32_t next_alloc = sweep->alloc.row[*alloc], next_free = sweep->freed[*freed];
        uint64_t alloc_time = hs_row__time(columns, next_alloc), free_time = hs_row__free_time(columns, next_free);
        *is_free = free_time != alloc_time ? free_time < alloc_time : next_free < next_alloc;
    }
    *row = *is_free ? sweep->freed[(*freed)++] : sweep->alloc.row[(*alloc)++];
    return true;
}

// ---- peak
// --------------------------------------------------------------------------------------------------------------

// Of stacks nothing is known between the ticks, so theirs is what they had at the highest tick of all.
static int peak_of_sums(const struct hs_store *store, const struct hs_filter *filter, struct hs_live_total *peak,
                        uint64_t *time, struct hs_error *error)
{
    struct hs_totals totals;
    int failed = hs_query__totals(store, filter, NULL, &totals, error);
    if (failed)
        return failed;
    *peak = (struct hs_live_total){totals.sum.peak_bytes, totals.sum.peak_usable, totals.sum.peak_count};
    *time = hs_store__summary(store)->peak_time;
    hs_totals__free(&totals);
    return 0;
}

int hs_query__peak(const struct hs_store *store, const struct hs_filter *filter, const struct hs_query_control *control,
                   struct hs_live_total *peak, uint64_t *time, struct hs_error *error)
{
    const struct hs_summary *summary = hs_store__summary(store);
    struct sweep sweep;
    *peak = (struct hs_live_total){0};
    *time = 0;
    if (!filter) {
        *peak = summary->peak;
        *time = summary->peak_time;
        return 0;
    }
    if (summary->has_sums)
        return peak_of_sums(store, filter, peak, time, error);
    int failed = open_sweep(&sweep, store, filter, control, error);
    if (failed)
        return failed;
    struct hs_live_total live = {0};
    size_t alloc = 0, freed = 0;
    uint32_t row;
    bool is_free;
    while (next_step(&sweep, &alloc, &freed, &row, &is_free)) {
        uint64_t size = hs_row__size(sweep.columns, row), usable = size + hs_row__slack(sweep.columns, row);
        live.bytes += is_free ? 0 - size : size;
        live.usable += is_free ? 0 - usable : usable;
        live.count += is_free ? UINT64_MAX : 1;
        if (live.bytes > peak->bytes) {
            *peak = live;
            *time = hs_row__time(sweep.columns, row);
        }
    }
    close_sweep(&sweep);
    return 0;
}

// ---- timeline
// ----------------------------------------------------------------------------------------------------------

struct progress {
    struct hs_timeline *timeline;
    uint64_t bytes, count;
    size_t current;
};

static void start_point(struct progress *progress)
{
    struct hs_timeline_point *point = &progress->timeline->point[progress->current];
    point->live_bytes_max = progress->bytes;
    point->live_count_max = progress->count;
}

static void end_point(struct progress *progress)
{
    struct hs_timeline_point *point = &progress->timeline->point[progress->current];
    point->live_bytes_end = progress->bytes;
    point->live_count_end = progress->count;
}

static void advance(struct progress *progress, uint64_t time)
{
    const struct hs_timeline *timeline = progress->timeline;
    while (progress->current + 1 < timeline->count &&
           time >= timeline->from + (progress->current + 1) * timeline->width) {
        end_point(progress);
        progress->current++;
        start_point(progress);
    }
}

static void step(struct progress *progress, const struct hs_columns *columns, uint32_t row, bool is_free, bool before)
{
    struct hs_timeline_point *point = &progress->timeline->point[progress->current];
    uint64_t size = hs_row__size(columns, row);
    if (is_free) {
        progress->bytes -= size;
        progress->count--;
        point->freed_bytes += before ? 0 : size;
        point->freed_count += !before;
        return;
    }
    progress->bytes += size;
    progress->count++;
    point->allocated_bytes += before ? 0 : size;
    point->allocated_count += !before;
    if (before)
        return;
    if (progress->bytes > point->live_bytes_max)
        point->live_bytes_max = progress->bytes;
    if (progress->count > point->live_count_max)
        point->live_count_max = progress->count;
}

static void walk(const struct sweep *sweep, struct hs_timeline *timeline, uint64_t to)
{
    struct progress progress = {.timeline = timeline};
    size_t alloc = 0, freed = 0;
    uint32_t row;
    bool is_free, started = false;
    while (next_step(sweep, &alloc, &freed, &row, &is_free)) {
        uint64_t time = is_free ? hs_row__free_time(sweep->columns, row) : hs_row__time(sweep->columns, row);
        if (time > to)
            break;
        if (time >= timeline->from && !started) {
            start_point(&progress);
            started = true;
        }
        if (started)
            advance(&progress, time);
        step(&progress, sweep->columns, row, is_free, !started);
    }
    if (!started)
        start_point(&progress);
    advance(&progress, UINT64_MAX);
    end_point(&progress);
}

// A point of the answer is made from at least so many, so that rounding its width up to whole ones changes little.
#define LEAST_PARTS 32

// From the coarsest level that is still fine enough; false when none is.
static bool from_pyramid(const struct hs_store *store, struct hs_timeline *timeline)
{
    size_t count;
    const struct hs_timeline_level *levels = hs_store__timeline(store, &count);
    if (timeline->from || !count || timeline->width < levels[0].interval)
        return false;
    size_t level = 0;
    while (level + 1 < count && levels[level + 1].interval * LEAST_PARTS <= timeline->width)
        level++;
    // Whole intervals only: the width is rounded up to them.
    const struct hs_timeline_level *from = &levels[level];
    uint64_t group = (timeline->width + from->interval - 1) / from->interval, last = 0, last_count = 0;
    timeline->width = group * from->interval;
    for (size_t i = 0; i < timeline->count; i++) {
        struct hs_timeline_point *point = &timeline->point[i];
        *point = (struct hs_timeline_point){last, last_count, last, last_count, 0, 0, 0, 0};
        for (uint64_t k = i * group; k < (i + 1) * group && k < from->points; k++) {
            const struct hs_timeline_point *part = &from->point[k];
            if (part->live_bytes_max > point->live_bytes_max)
                point->live_bytes_max = part->live_bytes_max;
            if (part->live_count_max > point->live_count_max)
                point->live_count_max = part->live_count_max;
            point->live_bytes_end = part->live_bytes_end;
            point->live_count_end = part->live_count_end;
            point->allocated_bytes += part->allocated_bytes;
            point->allocated_count += part->allocated_count;
            point->freed_bytes += part->freed_bytes;
            point->freed_count += part->freed_count;
        }
        last = point->live_bytes_end;
        last_count = point->live_count_end;
    }
    return true;
}

// Sums are known at ticks alone, which the pyramid's finest level has; each counts where its interval begins.
static void from_ticks(const struct hs_store *store, struct hs_timeline *timeline, uint64_t to)
{
    size_t levels;
    const struct hs_timeline_level *level = hs_store__timeline(store, &levels);
    struct progress progress = {.timeline = timeline};
    bool started = false;
    for (uint64_t i = 0; levels && i < level->points && i * level->interval <= to; i++) {
        const struct hs_timeline_point *tick = &level->point[i];
        uint64_t time = i * level->interval;
        if (time >= timeline->from) {
            if (!started)
                start_point(&progress);
            started = true;
            advance(&progress, time);
            struct hs_timeline_point *point = &timeline->point[progress.current];
            if (tick->live_bytes_max > point->live_bytes_max)
                point->live_bytes_max = tick->live_bytes_max;
            if (tick->live_count_max > point->live_count_max)
                point->live_count_max = tick->live_count_max;
            point->allocated_bytes += tick->allocated_bytes;
            point->allocated_count += tick->allocated_count;
            point->freed_bytes += tick->freed_bytes;
            point->freed_count += tick->freed_count;
        }
        progress.bytes = tick->live_bytes_end;
        progress.count = tick->live_count_end;
    }
    if (!started)
        start_point(&progress);
    advance(&progress, UINT64_MAX);
    end_point(&progress);
}

int hs_query__timeline(const struct hs_store *store, const struct hs_filter *filter, uint64_t from, uint64_t to,
                       size_t points, const struct hs_query_control *control, struct hs_timeline *timeline,
                       struct hs_error *error)
{
    struct sweep sweep;
    *timeline = (struct hs_timeline){.from = from, .count = points};
    if (!points || to < from)
        return hs_error__set(error, EINVAL, "timeline: an empty range");
    timeline->width = (to - from) / points + 1;
    timeline->point = calloc(points, sizeof *timeline->point);
    if (!timeline->point)
        return hs_error__set(error, ENOMEM, "query: out of memory");
    if (!filter && from_pyramid(store, timeline))
        return 0;
    if (!filter && hs_store__summary(store)->has_sums) {
        from_ticks(store, timeline, to);
        return 0;
    }
    int failed = open_sweep(&sweep, store, filter, control, error);
    if (failed) {
        hs_timeline__free(timeline);
        return failed;
    }
    walk(&sweep, timeline, to);
    close_sweep(&sweep);
    return 0;
}

void hs_timeline__free(struct hs_timeline *timeline)
{
    free(timeline->point);
    *timeline = (struct hs_timeline){0};
}
