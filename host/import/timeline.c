// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The timeline pyramid: level 0 while events go by, the coarser levels at the end.
#include "host/import/builder.h"

#include <errno.h>
#include <stdlib.h>

// A power of two: a longer trace's interval is whole intervals of a shorter one's.
int hs_timeline_builder__create(struct hs_timeline_builder *timeline, uint64_t end_ns)
{
    timeline->interval = 1;
    while (timeline->interval < end_ns / (HS_TIMELINE_POINTS - 1) + 1)
        timeline->interval *= 2;
    timeline->current_end = timeline->interval;
    timeline->point = calloc(HS_TIMELINE_POINTS, sizeof *timeline->point);
    return timeline->point ? 0 : -ENOMEM;
}

void hs_timeline_builder__free(struct hs_timeline_builder *timeline)
{
    free(timeline->point);
    timeline->point = NULL;
}

// Closes points until the one that holds `now`; each starts from what is live when the previous one ends.
void hs_timeline_builder__advance(struct hs_builder *builder)
{
    struct hs_timeline_builder *timeline = &builder->timeline;
    while (builder->now >= timeline->current_end && timeline->current + 1 < HS_TIMELINE_POINTS) {
        struct hs_timeline_point *point = &timeline->point[timeline->current++];
        point->live_bytes_end = builder->live_total.bytes;
        point->live_count_end = builder->live_total.count;
        point[1].live_bytes_max = builder->live_total.bytes;
        point[1].live_count_max = builder->live_total.count;
        timeline->current_end += timeline->interval;
    }
    if (timeline->current + 1 == HS_TIMELINE_POINTS)
        timeline->current_end = UINT64_MAX; // later than the end was thought to be: all in the last point
}

int hs_timeline_builder__continue(struct hs_timeline_builder *timeline, uint64_t interval,
                                  const struct hs_timeline_point *points, uint64_t count)
{
    // Intervals are powers of two, so `times` is, too.
    uint64_t times = interval ? timeline->interval / interval : 0;
    if (!times || times * interval != timeline->interval || !count || count > HS_TIMELINE_POINTS)
        return -EBADMSG;
    for (uint64_t i = 0; i < count; i++)
        hs_timeline_point__add(&timeline->point[i / times], &points[i]);
    timeline->current = (count - 1) / times;
    bool at_last = timeline->current + 1 == HS_TIMELINE_POINTS;
    timeline->current_end = at_last ? UINT64_MAX : (timeline->current + 1) * timeline->interval;
    return 0;
}

int hs_timeline_builder__finish(struct hs_builder *builder, struct hs_store_head *head)
{
    struct hs_timeline_builder *timeline = &builder->timeline;
    struct hs_timeline_point *last = &timeline->point[timeline->current];
    struct hs_column_file file;
    last->live_bytes_end = builder->live_total.bytes;
    last->live_count_end = builder->live_total.count;
    head->timeline_interval = timeline->interval;
    int failed = hs_column_file__create(&file, builder->directory_fd, "timeline", sizeof *last);
    if (!failed)
        failed = hs_column_file__reserve(&file, HS_TIMELINE_POINTS * 2);
    if (failed) {
        hs_column_file__abandon(&file);
        return failed;
    }
    struct hs_timeline_point *at = file.data;
    uint64_t points = timeline->current + 1, total = points;
    for (uint64_t i = 0; i < points; i++)
        at[i] = timeline->point[i];
    head->timeline_points[0] = points;
    for (unsigned level = 1; level < HS_TIMELINE_LEVELS; level++) {
        struct hs_timeline_point *coarse = at + points;
        for (uint64_t i = 0; i < points; i++)
            hs_timeline_point__add(&coarse[i / 4], &at[i]);
        at = coarse;
        points = (points + 3) / 4;
        head->timeline_points[level] = points;
        total += points;
    }
    return hs_column_file__finish(&file, total);
}
