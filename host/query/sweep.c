// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Answers that need allocations and frees in the order of time: exact timelines and peaks.
#include "host/query/history.h"
#include "host/query/order.h"
#include "host/query/planner.h"
#include "host/query/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// ---- peak ----------------------------------------------------------------------------------------------------------

// Between ticks nothing is known of single stacks, so their peak is the value at the highest tick of all.
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

// The state right after a row was allocated.
struct instant {
    uint64_t row, time;
    struct hs_matcher **matchers;
    struct hs_live_total *there; // by worker
};

static int add_there(void *argument, unsigned worker, uint64_t first, uint64_t end)
{
    const struct instant *instant = argument;
    struct hs_matcher *matcher = instant->matchers[worker];
    struct hs_live_total *there = &instant->there[worker];
    if (first > instant->row)
        return 0;
    for (uint64_t row = first; row < end && row <= instant->row; row += HS_PACKED_BLOCK) {
        hs_matcher__match(matcher, row / HS_PACKED_BLOCK);
        const uint64_t *free_time = hs_column_block__column(&matcher->block, HS_BLOCK_FREE_TIME);
        for (size_t i = 0; i < matcher->count && hs_matcher__row(matcher, i) <= instant->row; i++) {
            uint64_t here = hs_matcher__row(matcher, i);
            if (free_time[matcher->place[i]] <= instant->time && here != instant->row)
                continue;
            uint64_t size = hs_row__size(matcher->block.columns, here);
            there->bytes += size;
            there->usable += size + hs_row__slack_of(matcher->block.columns, here, size);
            there->count++;
        }
    }
    return 0;
}

static int sum_instant(const struct hs_store *store, const struct hs_filter *filter,
                       const struct hs_query_control *control, uint64_t row, struct hs_live_total *sum,
                       struct hs_error *error)
{
    unsigned workers = hs_scan__workers(store, control);
    struct instant instant = {row, hs_row__time(hs_store__columns(store), row),
                              hs_matchers__create(store, filter, workers), calloc(workers, sizeof(*instant.there))};
    const struct hs_scan scan = {store, filter, control, workers, add_there, &instant, false, 0};
    int failed = instant.matchers && instant.there ? hs_scan__run(&scan, error)
                                                   : hs_error__set(error, ENOMEM, "query: out of memory");
    for (unsigned i = 0; !failed && i < workers; i++) {
        sum->bytes += instant.there[i].bytes;
        sum->usable += instant.there[i].usable;
        sum->count += instant.there[i].count;
    }
    hs_matchers__destroy(instant.matchers, workers);
    free(instant.there);
    return failed;
}

static int find_peak(const struct hs_store *store, const struct hs_filter *filter,
                     const struct hs_query_control *control, struct hs_live_total *peak, uint64_t *time,
                     struct hs_error *error)
{
    struct hs_timeline_point point = {0};
    struct hs_timeline timeline = {.width = UINT64_MAX, .point = &point, .count = 1};
    struct hs_history history = {.timeline = &timeline, .to = HS_NEVER - 1};
    int failed = hs_history__make(&history, store, filter, control, error);
    if (failed || history.peak_row == UINT64_MAX)
        return failed;
    *time = hs_row__time(hs_store__columns(store), history.peak_row);
    return sum_instant(store, filter, control, history.peak_row, peak, error);
}

int hs_query__peak(const struct hs_store *store, const struct hs_filter *filter, const struct hs_query_control *control,
                   struct hs_live_total *peak, uint64_t *time, struct hs_error *error)
{
    const struct hs_summary *summary = hs_store__summary(store);
    *peak = (struct hs_live_total){0};
    *time = 0;
    if (!filter) {
        hs_query__explain(control, HS_ASKED_PEAK, HS_BY_SUMMARY);
        *peak = summary->peak;
        *time = summary->peak_time;
        return 0;
    }
    if (summary->is_aggregate) {
        hs_query__explain(control, HS_ASKED_PEAK, HS_BY_TICKS);
        return peak_of_sums(store, filter, peak, time, error);
    }
    const struct hs_plan plan = hs_planner__choose(control, store, filter, HS_ASKED_PEAK);
    return plan.by == HS_BY_EVENT_LOG ? hs_event_log__peak(plan.events, filter, control, peak, time, error)
                                      : find_peak(store, filter, control, peak, time, error);
}

// ---- timeline ------------------------------------------------------------------------------------------------------

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

// A point of the answer is made from this many points of the pyramid. Rounding its width up to whole points of the
// pyramid then changes it little.
#define PARTS       32 // where there is a choice
#define LEAST_PARTS 8  // where there is none

// Whether a part of the time is worked out from its rows: not too many were allocated there.
static bool is_short(const struct hs_store *store, uint64_t from, uint64_t to)
{
    size_t count;
    const struct hs_zone *zone = hs_store__zones(store, &count);
    uint64_t rows = 0;
    for (size_t i = 0; i < count; i++)
        rows += zone[i].time_max >= from && zone[i].time_min <= to ? HS_ZONE_ROWS : 0;
    return rows <= hs_order_limits.exact;
}

// From the coarsest level that is still fine enough; false when none is.
static bool from_pyramid(const struct hs_store *store, struct hs_timeline *timeline, uint64_t to)
{
    size_t count;
    const struct hs_timeline_level *levels = hs_store__timeline(store, &count);
    if (!count || timeline->width < (timeline->from ? LEAST_PARTS : 1) * levels[0].interval)
        return false;
    if (timeline->from && is_short(store, timeline->from, to))
        return false;
    size_t level = 0;
    while (level + 1 < count && levels[level + 1].interval * PARTS <= timeline->width)
        level++;
    // Whole intervals only: the begin is rounded down to them, and the width up.
    const struct hs_timeline_level *from = &levels[level];
    uint64_t skipped = timeline->from / from->interval, last = 0, last_count = 0;
    timeline->from = skipped * from->interval;
    uint64_t group = ((to - timeline->from) / timeline->count + from->interval) / from->interval;
    timeline->width = group * from->interval;
    if (skipped && from->points) {
        const struct hs_timeline_point *before = &from->point[(skipped < from->points ? skipped : from->points) - 1];
        last = before->live_bytes_end;
        last_count = before->live_count_end;
    }
    for (size_t i = 0; i < timeline->count; i++) {
        struct hs_timeline_point *point = &timeline->point[i];
        *point = (struct hs_timeline_point){last, last_count, last, last_count, 0, 0, 0, 0};
        for (uint64_t k = skipped + i * group; k < skipped + (i + 1) * group && k < from->points; k++)
            hs_timeline_point__add(point, &from->point[k]);
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
    struct hs_filter heap;
    *timeline = (struct hs_timeline){.from = from, .count = points};
    if (!points || to < from)
        return hs_error__set(error, EINVAL, "timeline: an empty range");
    timeline->width = (to - from) / points + 1;
    timeline->point = calloc(points, sizeof *timeline->point);
    if (!timeline->point)
        return hs_error__set(error, ENOMEM, "query: out of memory");
    if (!filter && from_pyramid(store, timeline, to)) {
        hs_query__explain(control, HS_ASKED_TIMELINE, HS_BY_PYRAMID);
        return 0;
    }
    if (!filter && hs_store__summary(store)->is_aggregate) {
        hs_query__explain(control, HS_ASKED_TIMELINE, HS_BY_TICKS);
        from_ticks(store, timeline, to);
        return 0;
    }
    if (hs_store__summary(store)->is_aggregate) {
        hs_timeline__free(timeline);
        return hs_query__refuse_aggregate(error);
    }
    filter = hs_filter__or_heap(filter, &heap);
    struct hs_history history = {.timeline = timeline, .to = to < HS_NEVER ? to : HS_NEVER - 1};
    const struct hs_plan plan = hs_planner__choose(control, store, filter, HS_ASKED_TIMELINE);
    int failed = plan.by == HS_BY_EVENT_LOG
                     ? hs_event_log__timeline(plan.events, filter, history.to, control, timeline, error)
                     : hs_history__make(&history, store, filter, control, error);
    if (failed)
        hs_timeline__free(timeline);
    return failed;
}

void hs_timeline__free(struct hs_timeline *timeline)
{
    free(timeline->point);
    *timeline = (struct hs_timeline){0};
}
