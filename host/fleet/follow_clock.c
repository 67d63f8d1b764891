// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/fleet/follow_clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    BACK_MOST = 64, // a point that is older than this many before it is damage
    KEPT = 2        // their slope holds until the next one
};

int hs_follow_clock__add(struct hs_follow_clock *clock, const struct hs_clock_point *point, uint64_t *damaged)
{
    struct hs_clock_point *points = clock->points.data;
    size_t count = clock->points.count;
    if (count >= BACK_MOST && points[count - BACK_MOST].time > point->time) {
        ++*damaged;
        return 0;
    }
    struct hs_clock_point *place = hs_array__add(&clock->points, sizeof(*place));
    if (!place)
        return -ENOMEM;
    for (points = clock->points.data; place > points && place[-1].time > point->time; place--)
        *place = place[-1];
    *place = *point;
    return 0;
}

static void forget_all_but_last(struct hs_follow_clock *clock)
{
    struct hs_clock_point *points = clock->points.data;
    if (clock->used <= KEPT)
        return;
    size_t gone = clock->used - KEPT;
    clock->points.count -= gone;
    clock->used = KEPT;
    memmove(points, points + gone, clock->points.count * sizeof(*points));
}

int hs_follow_clock__set(struct hs_follow_clock *clock, const struct hs_file_header *header, const char *rate,
                         uint64_t time, bool forgets)
{
    struct hs_clock_point *points = clock->points.data;
    size_t count = clock->used;
    while (count < clock->points.count && points[count].time <= time)
        count++;
    if (clock->map.segment && count == clock->used)
        return 0;
    hs_clock_map__free(&clock->map);
    clock->used = count;
    if (forgets)
        forget_all_but_last(clock);
    return hs_clock_map__create(&clock->map, header, rate, points, clock->used);
}

uint64_t hs_follow_clock__realtime(const struct hs_follow_clock *clock, const struct hs_file_header *header,
                                   uint64_t ns)
{
    const struct hs_clock_point *points = clock->points.data;
    if (!clock->used)
        return header->start_realtime_ns + ns;
    const struct hs_clock_point *last = &points[clock->used - 1];
    return last->realtime_ns + header->start_monotonic_ns + ns - last->monotonic_ns;
}

void hs_follow_clock__rewind(struct hs_follow_clock *clock)
{
    hs_clock_map__free(&clock->map);
    clock->map = (struct hs_clock_map){0};
    clock->used = 0;
}

void hs_follow_clock__free(struct hs_follow_clock *clock)
{
    hs_clock_map__free(&clock->map);
    free(clock->points.data);
}
