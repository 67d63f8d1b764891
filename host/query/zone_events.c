// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/zone_events.h"

#include "host/query/scan.h"

#include <stdlib.h>
#include <string.h>

void hs_time_index__make(struct hs_time_index *index, uint64_t *time, size_t count)
{
    size_t at = 0;
    index->time = time;
    index->count = count;
    index->from = count ? time[0] : 0;
    uint64_t span = count ? time[count - 1] - index->from : 0;
    index->shift = span < HS_TIME_PARTS ? 0 : 50 - (unsigned)__builtin_clzll(span);
    for (uint64_t part = 0; part < HS_TIME_PARTS; part++) {
        while (at < count && time[at] - index->from < part << index->shift)
            at++;
        index->first[part] = (uint32_t)at;
    }
    index->first[HS_TIME_PARTS] = index->first[HS_TIME_PARTS + 1] = (uint32_t)count;
    for (size_t i = 0; i < HS_TIMES_AT_ONCE; i++)
        time[count + i] = UINT64_MAX;
}

// ---- beginning and end ---------------------------------------------------------------------------------------------

static int index_zones(struct hs_zone_times *times, const struct hs_store *store)
{
    times->zone = hs_store__zones(store, &times->count);
    times->last = malloc((times->count + HS_TIMES_AT_ONCE) * sizeof(*times->last));
    times->index = malloc(sizeof(*times->index));
    if (!times->last || !times->index)
        return -ENOMEM;
    for (size_t i = 0; i < times->count; i++)
        times->last[i] = times->zone[i].time_max;
    hs_time_index__make(times->index, times->last, times->count);
    return 0;
}

int hs_zone_event_scan__start(struct hs_zone_event_scan *event_scan)
{
    event_scan->columns = hs_store__columns(event_scan->store);
    event_scan->times = (struct hs_zone_times){0};
    event_scan->matchers = hs_matchers__create(event_scan->store, event_scan->filter, event_scan->workers);
    event_scan->later = calloc(event_scan->workers, sizeof(*event_scan->later));
    event_scan->zone_events = calloc(event_scan->workers, sizeof(struct hs_zone_events *));
    if (!event_scan->matchers || !event_scan->later || !event_scan->zone_events ||
        index_zones(&event_scan->times, event_scan->store))
        return -ENOMEM;
    for (unsigned i = 0; i < event_scan->workers; i++) {
        event_scan->later[i].zone = calloc(event_scan->times.count + 1, sizeof(struct hs_later_rows));
        event_scan->zone_events[i] = malloc(sizeof(struct hs_zone_events));
        if (!event_scan->later[i].zone || !event_scan->zone_events[i])
            return -ENOMEM;
        event_scan->zone_events[i]->free = NULL;
        event_scan->zone_events[i]->free_time = NULL;
        event_scan->zone_events[i]->frees = event_scan->zone_events[i]->room = 0;
    }
    return 0;
}

static void free_later(struct hs_later *later, size_t zones)
{
    for (size_t i = 0; later->zone && i < zones; i++)
        free(later->zone[i].row);
    free(later->zone);
}

static void free_zone_events(struct hs_zone_events *zone_events)
{
    if (zone_events) {
        free(zone_events->free);
        free(zone_events->free_time);
    }
    free(zone_events);
}

void hs_zone_event_scan__end(struct hs_zone_event_scan *event_scan)
{
    for (unsigned i = 0; event_scan->later && i < event_scan->workers; i++)
        free_later(&event_scan->later[i], event_scan->times.count);
    for (unsigned i = 0; event_scan->zone_events && i < event_scan->workers; i++)
        free_zone_events(event_scan->zone_events[i]);
    hs_matchers__destroy(event_scan->matchers, event_scan->workers);
    free(event_scan->later);
    free(event_scan->zone_events);
    free(event_scan->times.last);
    free(event_scan->times.index);
}

int hs_later__add(struct hs_later_rows *rows, uint64_t row)
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

// ---- a zone --------------------------------------------------------------------------------------------------------

static int make_room(struct hs_zone_events *zone_events, size_t wanted)
{
    if (wanted <= zone_events->room)
        return 0;
    size_t room = wanted + wanted / 4;
    struct hs_free *frees = realloc(zone_events->free, room * sizeof(*frees));
    if (frees)
        zone_events->free = frees;
    uint64_t *times = realloc(zone_events->free_time, room * sizeof(*times));
    if (times)
        zone_events->free_time = times;
    if (!frees || !times)
        return -ENOMEM;
    zone_events->room = room;
    return 0;
}

static void add_block(const struct hs_zone_event_scan *event_scan, struct hs_matcher *matcher,
                      struct hs_zone_events *zone_events, uint64_t last_end)
{
    const uint64_t *times = hs_column_block__column(&matcher->block, HS_BLOCK_TIME);
    const uint64_t *free_times = hs_column_block__column(&matcher->block, HS_BLOCK_FREE_TIME);
    const uint64_t *sizes = hs_column_block__column(&matcher->block, HS_BLOCK_SIZE);
    for (size_t i = 0; i < matcher->count; i++) {
        size_t place = matcher->place[i];
        uint64_t time = times[place], end = free_times[place];
        size_t zone_event = zone_events->count, freed = zone_events->frees;
        zone_events->time[zone_event] = time;
        zone_events->size[zone_event] = sizes[place];
        zone_events->row[zone_event] = (uint32_t)hs_matcher__row(matcher, i);
        zone_events->ends_at_once[zone_event] = end <= time;
        zone_events->count += time >= event_scan->from && time <= event_scan->to;
        zone_events->free_time[freed] = end;
        zone_events->free[freed] = (struct hs_free){.size = sizes[place], .row = zone_events->row[zone_event]};
        zone_events->frees += end >= event_scan->from && end <= last_end && end > time;
    }
}

// Values at random positions are prefetched this many rows before they are needed.
enum { AHEAD = 16 };

static void add_earlier(const struct hs_zone_event_scan *event_scan, const struct hs_later_rows *rows,
                        struct hs_zone_events *zone_events)
{
    const struct hs_columns *columns = event_scan->columns;
    for (size_t i = 0; i < rows->count; i++) {
        uint32_t row = rows->row[i], ahead = rows->row[i + AHEAD < rows->count ? i + AHEAD : i];
        hs_packed__fetch(&columns->free_time, ahead);
        hs_packed__fetch(&columns->size, ahead);
        zone_events->free_time[zone_events->frees] = hs_row__free_time(columns, row);
        zone_events->free[zone_events->frees++] = (struct hs_free){.size = hs_row__size(columns, row), .row = row};
    }
}

int hs_zone_event_scan__read(struct hs_zone_event_scan *event_scan, unsigned worker, size_t zone)
{
    struct hs_zone_events *zone_events = event_scan->zone_events[worker];
    struct hs_matcher *matcher = event_scan->matchers[worker];
    const struct hs_zone_times *times = &event_scan->times;
    const uint64_t last_end = event_scan->to < times->last[zone] ? event_scan->to : times->last[zone];
    const uint64_t blocks = HS_ZONE_ROWS / HS_PACKED_BLOCK, rows = event_scan->columns->rows;
    size_t frees = HS_ZONE_ROWS + 1;
    for (unsigned w = 0; w < event_scan->workers; w++)
        frees += event_scan->later[w].zone[zone].count;
    if (make_room(zone_events, frees))
        return -ENOMEM;
    zone_events->count = zone_events->frees = 0;
    bool matches = hs_filter__zone_may_match(event_scan->filter, &times->zone[zone],
                                             hs_store__summary(event_scan->store)->end_time);
    for (uint64_t block = zone * blocks; matches && block < (zone + 1) * blocks && block * HS_PACKED_BLOCK < rows;
         block++)
        if (hs_matcher__match(matcher, block))
            add_block(event_scan, matcher, zone_events, last_end);
    for (unsigned w = 0; w < event_scan->workers; w++)
        add_earlier(event_scan, &event_scan->later[w].zone[zone], zone_events);
    hs_time_index__make(&zone_events->index, zone_events->time, zone_events->count);
    for (size_t i = 0; i < zone_events->frees; i++)
        zone_events->free[i].zone_event = (uint32_t)hs_time_index__find(&zone_events->index, zone_events->free_time[i]);
    return 0;
}
