// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/import/clock_map.h"

#include "format/meta.h"
#include "host/base/search.h"

#include <errno.h>
#include <stdlib.h>

// Slopes outside of 1/1000 to 1e6 ns per tick are damage.
#define SLOPE_MIN ((uint64_t)1 << 22)
#define SLOPE_MAX ((uint64_t)1000000 << 32)

static int compare_points(const void *left, const void *right)
{
    const struct hs_clock_point *a = left, *b = right;
    return (a->time > b->time) - (a->time < b->time);
}

// ns per tick without points: a monotonic clock ticks in ns; a counter ticks as the trace says, else as if in ns.
static uint64_t default_slope(const struct hs_file_header *header, double ticks_per_second)
{
    double tick = (double)((uint64_t)1 << (header->tick_shift & 31));
    if (header->clock_source != HS_CLOCK_MONOTONIC && ticks_per_second > 0)
        tick = tick * 1e9 / ticks_per_second;
    uint64_t slope = tick < 1e6 ? (uint64_t)(tick * 4294967296.0) : SLOPE_MAX;
    return slope < SLOPE_MIN ? SLOPE_MIN : slope;
}

// The slope between two points, or 0 when they make no sense together.
static uint64_t slope_between(uint64_t ticks, uint64_t ns)
{
    if (!ticks || ns >> 62)
        return 0;
    unsigned __int128 slope = ((unsigned __int128)ns << 32) / ticks;
    return slope < SLOPE_MIN || slope > SLOPE_MAX ? 0 : (uint64_t)slope;
}

int hs_clock_map__create(struct hs_clock_map *map, const struct hs_file_header *header, const char *ticks_per_second,
                         struct hs_clock_point *points, size_t count)
{
    *map = (struct hs_clock_map){.is_counter = header->clock_source != HS_CLOCK_MONOTONIC};
    map->segment = malloc((count + 1) * sizeof *map->segment);
    if (!map->segment)
        return -ENOMEM;
    map->segment[0] = (struct hs_clock_segment){
        .multiplier = default_slope(header, ticks_per_second ? strtod(ticks_per_second, NULL) : 0)};
    map->count = 1;
    if (count)
        qsort(points, count, sizeof *points, compare_points);
    if (!map->is_counter)
        count = 0;
    for (size_t i = 0; i < count; i++) {
        struct hs_clock_segment *last = &map->segment[map->count - 1];
        uint64_t ns = points[i].monotonic_ns - header->start_monotonic_ns;
        if (points[i].time <= last->start || ns < last->ns)
            continue;
        uint64_t slope = slope_between(points[i].time - last->start, ns - last->ns);
        if (!slope)
            continue;
        // The slope holds up to this point, and beyond it until the next one says better.
        last->multiplier = slope;
        map->segment[map->count++] = (struct hs_clock_segment){points[i].time, ns, slope};
    }
    map->current_end = map->count > 1 ? map->segment[1].start : UINT64_MAX;
    return 0;
}

void hs_clock_map__free(struct hs_clock_map *map)
{
    free(map->segment);
    map->segment = NULL;
}

void hs_clock_map__seek(struct hs_clock_map *map, uint64_t time)
{
    map->current = HS_SEARCH_LAST(map->count, i, map->segment[i].start <= time);
    map->current_end = map->current + 1 < map->count ? map->segment[map->current + 1].start : UINT64_MAX;
}

int hs_clock_map__add_point(struct hs_array *points, const struct hs_meta_record *record)
{
    struct hs_clock_point *point = hs_array__add(points, sizeof *point);
    if (!point)
        return -ENOMEM;
    *point = (struct hs_clock_point){record->time, record->monotonic_ns, record->realtime_ns};
    return 0;
}
