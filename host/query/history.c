// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/history.h"

#include "host/query/match.h"
#include "host/query/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// Rows that end in a later zone than the one they begin in.
struct rows {
    uint32_t *row;
    size_t count, capacity;
};

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
struct cursor {
    uint64_t from, end;
    size_t point;
};

// The allocations of a zone that match, in order, and what is freed before each; one more for the end.
struct steps {
    size_t count;
    uint64_t time[HS_ZONE_ROWS + 1];
    uint64_t size[HS_ZONE_ROWS + 1];
    uint64_t freed_bytes[HS_ZONE_ROWS + 1];
    uint32_t freed_count[HS_ZONE_ROWS + 1];
    uint32_t row[HS_ZONE_ROWS + 1];
    bool ends_at_once[HS_ZONE_ROWS + 1];
    // What begins and ends in the zone: when it ends, and the first step that may come after that.
    size_t own_count;
    uint64_t own_end[HS_ZONE_ROWS];
    uint64_t own_size[HS_ZONE_ROWS];
    uint32_t own_step[HS_ZONE_ROWS];
};

struct worker {
    struct hs_matcher *matcher;
    struct hs_timeline_point *point; // sums, no levels
    struct hs_live_total start;
    struct rows *later; // by zone
    struct steps *steps;
};

struct making {
    const struct hs_store *store;
    const struct hs_columns *columns;
    const struct hs_filter *filter;
    const struct hs_timeline *timeline;
    uint64_t to;
    const struct hs_zone *zones;
    size_t zone_count;
    struct worker *worker;
    unsigned workers;
    struct zone_history *zone;
};

static size_t point_of(const struct hs_timeline *timeline, struct cursor *cursor, uint64_t time)
{
    if (time >= cursor->from && time < cursor->end)
        return cursor->point;
    cursor->point = (time - timeline->from) / timeline->width;
    cursor->from = timeline->from + cursor->point * timeline->width;
    cursor->end = cursor->point + 1 < timeline->count ? cursor->from + timeline->width : UINT64_MAX;
    return cursor->point;
}

// The first zone that has something at this time or later; behind the last one when none has.
static size_t zone_of(const struct making *making, uint64_t time, size_t from)
{
    size_t low = from, high = making->zone_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (making->zones[middle].time_max < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool may_match(const struct making *making, const struct hs_zone *zone)
{
    return hs_filter__zone_may_match(making->filter, zone, hs_store__summary(making->store)->end_time);
}

// ---- first: sums, and which rows end in later zones
// ---------------------------------------------------------------------

static int add_later(struct rows *rows, uint64_t row)
{
    if (rows->count == rows->capacity) {
        size_t capacity = rows->capacity ? rows->capacity + rows->capacity / 2 : 256;
        uint32_t *grown = realloc(rows->row, capacity * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        rows->row = grown;
        rows->capacity = capacity;
    }
    rows->row[rows->count++] = (uint32_t)row;
    return 0;
}

static int sum_block(const struct making *making, struct worker *worker, size_t zone)
{
    struct hs_matcher *matcher = worker->matcher;
    const struct hs_timeline *timeline = making->timeline;
    const uint64_t *times = hs_block__column(&matcher->block, HS_BLOCK_TIME);
    const uint64_t *free_times = hs_block__column(&matcher->block, HS_BLOCK_FREE_TIME);
    const uint64_t *sizes = hs_block__column(&matcher->block, HS_BLOCK_SIZE);
    const uint64_t zone_end = making->zones[zone].time_max, from = timeline->from, to = making->to;
    struct cursor in = {0}, out = {0};
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
        size_t later = end > zone_end ? zone_of(making, end, zone + 1) : making->zone_count;
        if (later < making->zone_count)
            failed = add_later(&worker->later[later], hs_matcher__row(matcher, i));
    }
    return failed;
}

static int sum_zone(void *argument, unsigned number, uint64_t first, uint64_t end)
{
    const struct making *making = argument;
    struct worker *worker = &making->worker[number];
    const struct hs_zone *zone = &making->zones[first / HS_ZONE_ROWS];
    int failed = 0;
    if (zone->time_min > making->to ||
        (zone->free_max < making->timeline->from && zone->time_max < making->timeline->from))
        return 0;
    for (uint64_t row = first; row < end && !failed; row += HS_PACKED_BLOCK)
        if (hs_matcher__match(worker->matcher, row / HS_PACKED_BLOCK))
            failed = sum_block(making, worker, first / HS_ZONE_ROWS);
    return failed;
}

// ---- second: the steps of each zone
// ---------------------------------------------------------------------------------------

static void add_steps(const struct making *making, struct hs_matcher *matcher, struct steps *steps, uint64_t zone_end)
{
    const uint64_t *times = hs_block__column(&matcher->block, HS_BLOCK_TIME);
    const uint64_t *free_times = hs_block__column(&matcher->block, HS_BLOCK_FREE_TIME);
    const uint64_t *sizes = hs_block__column(&matcher->block, HS_BLOCK_SIZE);
    const uint64_t from = making->timeline->from, to = making->to, last_end = to < zone_end ? to : zone_end;
    for (size_t i = 0; i < matcher->count; i++) {
        size_t place = matcher->place[i];
        uint64_t time = times[place], end = free_times[place];
        size_t step = steps->count, own = steps->own_count;
        steps->time[step] = time;
        steps->size[step] = sizes[place];
        steps->row[step] = (uint32_t)hs_matcher__row(matcher, i);
        steps->ends_at_once[step] = end <= time;
        steps->count += time >= from && time <= to;
        steps->own_end[own] = end;
        steps->own_size[own] = sizes[place];
        steps->own_step[own] = (uint32_t)steps->count;
        steps->own_count += end >= from && end <= last_end && end > time;
    }
}

// The first step from `step` on that is not before the time.
static size_t step_at(const struct steps *steps, size_t step, uint64_t time)
{
    size_t stride = 1, low = step, high;
    while (low + stride <= steps->count && steps->time[low + stride - 1] < time) {
        low += stride;
        stride *= 2;
    }
    high = low + stride - 1 < steps->count ? low + stride - 1 : steps->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (steps->time[middle] < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void add_free(struct steps *steps, size_t step, uint64_t size)
{
    steps->freed_bytes[step] += size;
    steps->freed_count[step]++;
}

static void add_own_frees(struct steps *steps)
{
    for (size_t i = 0; i < steps->own_count; i++)
        add_free(steps, step_at(steps, steps->own_step[i], steps->own_end[i]), steps->own_size[i]);
}

// Steps by parts of the zone's time: a free from an earlier zone can be anywhere.
enum { PARTS = 4096 };

static void find_parts(const struct steps *steps, uint64_t from, uint64_t part, size_t *first)
{
    size_t step = 0;
    for (size_t i = 0; i < PARTS; i++) {
        while (step < steps->count && steps->time[step] < from + i * part)
            step++;
        first[i] = step;
    }
}

static void add_earlier_frees(const struct making *making, size_t number, struct steps *steps)
{
    const struct hs_columns *columns = making->columns;
    const uint64_t from = number ? making->zones[number - 1].time_max : 0;
    const uint64_t part = (making->zones[number].time_max - from) / PARTS + 1;
    size_t first[PARTS];
    find_parts(steps, from, part, first);
    for (unsigned w = 0; w < making->workers; w++) {
        const struct rows *rows = &making->worker[w].later[number];
        for (size_t i = 0; i < rows->count; i++) {
            uint64_t end = hs_row__free_time(columns, rows->row[i]);
            add_free(steps, step_at(steps, first[(end - from) / part], end), hs_row__size(columns, rows->row[i]));
        }
    }
}

static int add_summit(struct zone_history *zone, const struct summit *summit)
{
    if (zone->count == zone->capacity) {
        size_t capacity = zone->capacity ? 2 * zone->capacity : 4;
        struct summit *grown = realloc(zone->summit, capacity * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        zone->summit = grown;
        zone->capacity = capacity;
    }
    zone->summit[zone->count++] = *summit;
    return 0;
}

static int walk(const struct making *making, const struct steps *steps, struct zone_history *zone)
{
    struct cursor cursor = {0};
    struct summit summit = {.point = SIZE_MAX};
    int64_t bytes = 0, count = 0;
    int failed = 0;
    for (size_t i = 0; i < steps->count && !failed; i++) {
        bytes += (int64_t)(steps->size[i] - steps->freed_bytes[i]);
        count += 1 - (int64_t)steps->freed_count[i];
        size_t point = point_of(making->timeline, &cursor, steps->time[i]);
        if (point != summit.point) {
            failed = summit.point == SIZE_MAX ? 0 : add_summit(zone, &summit);
            summit = (struct summit){point, bytes, count, steps->row[i]};
        }
        if (bytes > summit.bytes) {
            summit.bytes = bytes;
            summit.row = steps->row[i];
        }
        if (count > summit.count)
            summit.count = count;
        bytes -= steps->ends_at_once[i] ? (int64_t)steps->size[i] : 0;
        count -= steps->ends_at_once[i];
    }
    zone->bytes = bytes - (int64_t)steps->freed_bytes[steps->count];
    zone->count_change = count - (int64_t)steps->freed_count[steps->count];
    return failed || summit.point == SIZE_MAX ? failed : add_summit(zone, &summit);
}

static int walk_zone(void *argument, unsigned number, uint64_t first, uint64_t end)
{
    const struct making *making = argument;
    struct worker *worker = &making->worker[number];
    struct steps *steps = worker->steps;
    size_t zone = first / HS_ZONE_ROWS;
    bool matches = may_match(making, &making->zones[zone]);
    if (making->zones[zone].time_min > making->to || making->zones[zone].time_max < making->timeline->from)
        return 0;
    steps->count = steps->own_count = 0;
    for (uint64_t row = first; matches && row < end; row += HS_PACKED_BLOCK)
        if (hs_matcher__match(worker->matcher, row / HS_PACKED_BLOCK))
            add_steps(making, worker->matcher, steps, making->zones[zone].time_max);
    memset(steps->freed_bytes, 0, (steps->count + 1) * sizeof(*steps->freed_bytes));
    memset(steps->freed_count, 0, (steps->count + 1) * sizeof(*steps->freed_count));
    add_own_frees(steps);
    add_earlier_frees(making, zone, steps);
    return walk(making, steps, &making->zone[zone]);
}

// ---- third: from the zones to the timeline
// ---------------------------------------------------------------------------------

static void sum_points(const struct making *making, struct hs_history *history)
{
    struct hs_timeline *timeline = history->timeline;
    history->start = (struct hs_live_total){0};
    for (unsigned w = 0; w < making->workers; w++) {
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

static void raise_summits(const struct making *making, struct hs_history *history)
{
    uint64_t bytes = history->start.bytes, count = history->start.count;
    history->peak_bytes = 0;
    history->peak_row = UINT64_MAX;
    for (size_t i = 0; i < making->zone_count; i++) {
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

static int make_room(struct making *making)
{
    making->worker = calloc(making->workers, sizeof(*making->worker));
    making->zone = calloc(making->zone_count + 1, sizeof(*making->zone));
    bool good = making->worker && making->zone;
    for (unsigned i = 0; good && i < making->workers; i++) {
        struct worker *worker = &making->worker[i];
        worker->matcher = hs_matcher__create(making->store, making->filter);
        worker->point = calloc(making->timeline->count, sizeof(*worker->point));
        worker->later = calloc(making->zone_count + 1, sizeof(*worker->later));
        worker->steps = malloc(sizeof(*worker->steps));
        good = worker->matcher && worker->point && worker->later && worker->steps;
    }
    return good ? 0 : -ENOMEM;
}

static void free_room(struct making *making)
{
    for (unsigned i = 0; making->worker && i < making->workers; i++) {
        struct worker *worker = &making->worker[i];
        for (size_t k = 0; worker->later && k < making->zone_count; k++)
            free(worker->later[k].row);
        free(worker->later);
        free(worker->steps);
        free(worker->point);
        hs_matcher__destroy(worker->matcher);
    }
    for (size_t i = 0; making->zone && i < making->zone_count; i++)
        free(making->zone[i].summit);
    free(making->worker);
    free(making->zone);
}

int hs_history__make(struct hs_history *history, const struct hs_store *store, const struct hs_filter *filter,
                     const struct hs_query_control *control, struct hs_error *error)
{
    struct making making = {.store = store,
                            .columns = hs_store__columns(store),
                            .filter = filter,
                            .timeline = history->timeline,
                            .to = history->to,
                            .workers = hs_scan__workers(store, control)};
    making.zones = hs_store__zones(store, &making.zone_count);
    int failed = make_room(&making) ? hs_error__set(error, ENOMEM, "query: out of memory") : 0;
    const struct hs_scan sum = {store, filter, control, making.workers, sum_zone, &making};
    const struct hs_scan walk = {store, NULL, control, making.workers, walk_zone, &making};
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
