// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/history.h"

#include "host/base/array.h"
#include "host/query/scan.h"
#include "host/query/zone_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// The most that was there within a point and a zone, above what there was when the zone begins.
struct summit {
    size_t point;
    int64_t bytes, count;
    uint64_t row; // of `bytes`
};

struct zone_history {
    struct summit *summit;
    size_t count, capacity;
    int64_t bytes, count_change; // from the begin of the zone to that of the next
};

// A point of the timeline that is asked for again and again.
struct history_cursor {
    uint64_t from, end;
    size_t point;
};

struct history_worker {
    struct hs_timeline_point *point; // sums, no levels
    struct hs_live_total start;
    // Bytes that are freed before each zone event of a zone; one more entry for the end.
    uint64_t freed_bytes[HS_ZONE_ROWS + 1];
    uint32_t freed_count[HS_ZONE_ROWS + 1];
};

struct history_making {
    struct hs_zone_event_scan event_scan;
    const struct hs_timeline *timeline;
    struct history_worker *worker;
    struct zone_history *zone;
};

static size_t point_of(const struct hs_timeline *timeline, struct history_cursor *cursor, uint64_t time)
{
    if (time >= cursor->from && time < cursor->end)
        return cursor->point;
    cursor->point = (time - timeline->from) / timeline->width;
    cursor->from = timeline->from + cursor->point * timeline->width;
    cursor->end = cursor->point + 1 < timeline->count ? cursor->from + timeline->width : UINT64_MAX;
    return cursor->point;
}

// ---- first: sums, and which rows end in later zones ----------------------------------------------------------------

static int sum_block(struct history_making *making, unsigned number, size_t zone)
{
    struct history_worker *worker = &making->worker[number];
    struct hs_matcher *matcher = making->event_scan.matchers[number];
    const struct hs_timeline *timeline = making->timeline;
    const uint64_t *times = hs_column_block__column(&matcher->block, HS_BLOCK_TIME);
    const uint64_t *free_times = hs_column_block__column(&matcher->block, HS_BLOCK_FREE_TIME);
    const uint64_t *sizes = hs_column_block__column(&matcher->block, HS_BLOCK_SIZE);
    const uint64_t from = making->event_scan.from, to = making->event_scan.to;
    struct history_cursor in = {0}, out = {0};
    int failed = 0;
    for (size_t i = 0; i < matcher->count && !failed; i++) {
        size_t place = matcher->place[i];
        uint64_t time = times[place], size = sizes[place];
        uint64_t end = free_times[place] < time ? time : free_times[place];
        if (end < from || time > to)
            continue;
        if (time < from) {
            worker->start.bytes += size;
            worker->start.count++;
        } else {
            struct hs_timeline_point *point = &worker->point[point_of(timeline, &in, time)];
            point->allocated_bytes += size;
            point->allocated_count++;
        }
        if (end > to)
            continue;
        struct hs_timeline_point *point = &worker->point[point_of(timeline, &out, end)];
        point->freed_bytes += size;
        point->freed_count++;
        failed = hs_zone_event_scan__note(&making->event_scan, number, zone, hs_matcher__row(matcher, i), end);
    }
    return failed;
}

static int sum_zone(void *argument, unsigned number, uint64_t first, uint64_t end)
{
    struct history_making *making = argument;
    struct hs_matcher *matcher = making->event_scan.matchers[number];
    const size_t zone_number = first / HS_ZONE_ROWS;
    const struct hs_zone *zone = &making->event_scan.times.zone[zone_number];
    const uint64_t from = making->event_scan.from;
    int failed = 0;
    if (zone->time_min > making->event_scan.to || (zone->free_max < from && zone->time_max < from))
        return 0;
    for (uint64_t row = first; row < end && !failed; row += HS_PACKED_BLOCK)
        if (hs_matcher__match(matcher, row / HS_PACKED_BLOCK))
            failed = sum_block(making, number, zone_number);
    return failed;
}

// ---- second: the zone events of each zone
// --------------------------------------------------------------------------------

static int add_summit(struct zone_history *zone, const struct summit *summit)
{
    if (!HS_ARRAY_HAS_ROOM(zone->summit, zone->count, zone->capacity))
        return -ENOMEM;
    zone->summit[zone->count++] = *summit;
    return 0;
}

static void sum_frees(struct history_worker *worker, const struct hs_zone_events *zone_events)
{
    memset(worker->freed_bytes, 0, (zone_events->count + 1) * sizeof(*worker->freed_bytes));
    memset(worker->freed_count, 0, (zone_events->count + 1) * sizeof(*worker->freed_count));
    for (size_t i = 0; i < zone_events->frees; i++) {
        worker->freed_bytes[zone_events->free[i].zone_event] += zone_events->free[i].size;
        worker->freed_count[zone_events->free[i].zone_event]++;
    }
}

static int walk(const struct history_making *making, const struct history_worker *worker,
                const struct hs_zone_events *zone_events, struct zone_history *zone)
{
    struct history_cursor cursor = {0};
    struct summit summit = {.point = SIZE_MAX};
    int64_t bytes = 0, count = 0;
    int failed = 0;
    for (size_t i = 0; i < zone_events->count && !failed; i++) {
        bytes += (int64_t)(zone_events->size[i] - worker->freed_bytes[i]);
        count += 1 - (int64_t)worker->freed_count[i];
        size_t point = point_of(making->timeline, &cursor, zone_events->time[i]);
        if (point != summit.point) {
            failed = summit.point == SIZE_MAX ? 0 : add_summit(zone, &summit);
            summit = (struct summit){point, bytes, count, zone_events->row[i]};
        }
        if (bytes > summit.bytes) {
            summit.bytes = bytes;
            summit.row = zone_events->row[i];
        }
        if (count > summit.count)
            summit.count = count;
        bytes -= zone_events->ends_at_once[i] ? (int64_t)zone_events->size[i] : 0;
        count -= zone_events->ends_at_once[i];
    }
    zone->bytes = bytes - (int64_t)worker->freed_bytes[zone_events->count];
    zone->count_change = count - (int64_t)worker->freed_count[zone_events->count];
    return failed || summit.point == SIZE_MAX ? failed : add_summit(zone, &summit);
}

static int walk_zone(void *argument, unsigned number, uint64_t first, uint64_t end)
{
    struct history_making *making = argument;
    const size_t zone_number = first / HS_ZONE_ROWS;
    const struct hs_zone *zone = &making->event_scan.times.zone[zone_number];
    (void)end;
    if (zone->time_min > making->event_scan.to || zone->time_max < making->event_scan.from)
        return 0;
    int failed = hs_zone_event_scan__read(&making->event_scan, number, zone_number);
    if (failed)
        return failed;
    sum_frees(&making->worker[number], making->event_scan.zone_events[number]);
    return walk(making, &making->worker[number], making->event_scan.zone_events[number], &making->zone[zone_number]);
}

// ---- third: from the zones to the timeline -------------------------------------------------------------------------

static void sum_points(const struct history_making *making, struct hs_history *history)
{
    struct hs_timeline *timeline = history->timeline;
    history->start = (struct hs_live_total){0};
    for (unsigned w = 0; w < making->event_scan.workers; w++) {
        history->start.bytes += making->worker[w].start.bytes;
        history->start.count += making->worker[w].start.count;
        for (size_t i = 0; i < timeline->count; i++) {
            const struct hs_timeline_point *from = &making->worker[w].point[i];
            timeline->point[i].allocated_bytes += from->allocated_bytes;
            timeline->point[i].allocated_count += from->allocated_count;
            timeline->point[i].freed_bytes += from->freed_bytes;
            timeline->point[i].freed_count += from->freed_count;
        }
    }
    uint64_t bytes = history->start.bytes, count = history->start.count;
    for (size_t i = 0; i < timeline->count; i++) {
        struct hs_timeline_point *point = &timeline->point[i];
        point->live_bytes_max = bytes;
        point->live_count_max = count;
        point->live_bytes_end = bytes += point->allocated_bytes - point->freed_bytes;
        point->live_count_end = count += point->allocated_count - point->freed_count;
    }
}

static void raise_summits(const struct history_making *making, struct hs_history *history)
{
    uint64_t bytes = history->start.bytes, count = history->start.count;
    history->peak_bytes = 0;
    history->peak_row = UINT64_MAX;
    for (size_t i = 0; i < making->event_scan.times.count; i++) {
        const struct zone_history *zone = &making->zone[i];
        for (size_t k = 0; k < zone->count; k++) {
            const struct summit *summit = &zone->summit[k];
            struct hs_timeline_point *point = &history->timeline->point[summit->point];
            uint64_t here = bytes + (uint64_t)summit->bytes, blocks = count + (uint64_t)summit->count;
            point->live_bytes_max = here > point->live_bytes_max ? here : point->live_bytes_max;
            point->live_count_max = blocks > point->live_count_max ? blocks : point->live_count_max;
            if (here > history->peak_bytes) {
                history->peak_bytes = here;
                history->peak_row = summit->row;
            }
        }
        bytes += (uint64_t)zone->bytes;
        count += (uint64_t)zone->count_change;
    }
}

static int make_room(struct history_making *making)
{
    int failed = hs_zone_event_scan__start(&making->event_scan);
    making->worker = calloc(making->event_scan.workers, sizeof(*making->worker));
    making->zone = calloc(making->event_scan.times.count + 1, sizeof(*making->zone));
    bool good = !failed && making->worker && making->zone;
    for (unsigned i = 0; good && i < making->event_scan.workers; i++) {
        making->worker[i].point = calloc(making->timeline->count, sizeof(*making->worker[i].point));
        good = making->worker[i].point != NULL;
    }
    return good ? 0 : -ENOMEM;
}

static void free_room(struct history_making *making)
{
    for (unsigned i = 0; making->worker && i < making->event_scan.workers; i++)
        free(making->worker[i].point);
    for (size_t i = 0; making->zone && i < making->event_scan.times.count; i++)
        free(making->zone[i].summit);
    free(making->worker);
    free(making->zone);
    hs_zone_event_scan__end(&making->event_scan);
}

int hs_history__make(struct hs_history *history, const struct hs_store *store, const struct hs_filter *filter,
                     const struct hs_query_control *control, struct hs_error *error)
{
    struct history_making making = {.event_scan = {.store = store,
                                                   .filter = filter,
                                                   .from = history->timeline->from,
                                                   .to = history->to,
                                                   .workers = hs_scan__workers(store, control)},
                                    .timeline = history->timeline};
    int failed = make_room(&making) ? hs_error__set(error, ENOMEM, "query: out of memory") : 0;
    const unsigned workers = making.event_scan.workers;
    const struct hs_scan sum = {store, filter, control, workers, sum_zone, &making, false, 1};
    const struct hs_scan walk = {store, NULL, control, workers, walk_zone, &making, false, 0};
    if (!failed)
        failed = hs_scan__run(&sum, error);
    if (!failed)
        failed = hs_scan__run(&walk, error);
    if (!failed) {
        sum_points(&making, history);
        raise_summits(&making, history);
    }
    free_room(&making);
    return failed;
}
