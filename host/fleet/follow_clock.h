// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The times of a trace that is followed. A tick has the same time whenever it is read: only points of the clock that
// are not later count.
#ifndef HEAPSONDE_HOST_FLEET_FOLLOW_CLOCK_H
#define HEAPSONDE_HOST_FLEET_FOLLOW_CLOCK_H

#include "host/base/array.h"
#include "host/import/clock_map.h"

struct hs_follow_clock {
    struct hs_array points; // struct hs_clock_point, by time
    struct hs_clock_map map;
    size_t used; // points that `map` is made of
};

// 0 or -ENOMEM; *damaged counts points that are far out of order.
int hs_follow_clock__add(struct hs_follow_clock *clock, const struct hs_clock_point *point, uint64_t *damaged);

// Makes `map` for a recorded time. `forgets`: times only grow, and points that are no longer needed are dropped.
// 0 or -ENOMEM.
int hs_follow_clock__set(struct hs_follow_clock *clock, const struct hs_file_header *header, const char *rate,
                         uint64_t time, bool forgets);

// ns since 1970 of an age in ns. A clock that was never set begins in 1970, and is reported as it is.
uint64_t hs_follow_clock__realtime(const struct hs_follow_clock *clock, const struct hs_file_header *header,
                                   uint64_t ns);

// Begins again with the same points.
void hs_follow_clock__rewind(struct hs_follow_clock *clock);
void hs_follow_clock__free(struct hs_follow_clock *clock);

#endif
