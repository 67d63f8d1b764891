// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/store/clock_points.h"

// The last point before `time` says how far the clock is ahead.
uint64_t hs_clock_points__at(const struct hs_clock_points *points, uint64_t time, uint64_t *from, uint64_t *until)
{
    *until = HS_NEVER;
    for (size_t i = points->count; i--;) {
        const struct hs_clock_point *point = &points->point[i];
        *from = point->time;
        if (*from <= time && point->realtime_ns)
            return point->realtime_ns + (time - *from);
        if (point->realtime_ns && *from < *until)
            *until = *from;
    }
    *from = 0;
    return points->start_realtime_ns + time;
}

uint64_t hs_clock_points__latest(const struct hs_clock_points *points, uint64_t time)
{
    uint64_t from, until, latest = hs_clock_points__at(points, time, &from, &until);
    for (size_t i = points->count; i-- && points->point[i].time > time;) {
        const struct hs_clock_point *point = &points->point[i];
        const uint64_t since = point->time - time;
        if (point->realtime_ns > since && point->realtime_ns - since > latest)
            latest = point->realtime_ns - since;
    }
    return latest;
}

// The first moment from `first` on at which a clock that shows `shown` there shows `wanted`; UINT64_MAX: none.
static uint64_t moment(uint64_t first, uint64_t shown, uint64_t wanted)
{
    uint64_t ahead = wanted > shown ? wanted - shown : 0;
    return ahead > UINT64_MAX - first ? UINT64_MAX : first + ahead;
}

uint64_t hs_clock_points__time_of(const struct hs_clock_points *points, uint64_t realtime_ns)
{
    uint64_t first = 0, shown = points->start_realtime_ns;
    for (size_t i = 0; i < points->count; i++) {
        const struct hs_clock_point *point = &points->point[i];
        if (!point->realtime_ns)
            continue;
        uint64_t time = moment(first, shown, realtime_ns);
        if (time < point->time)
            return time;
        first = point->time;
        shown = point->realtime_ns;
    }
    return moment(first, shown, realtime_ns);
}
