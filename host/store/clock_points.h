// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The wall clock of a recording: it may be set while the program runs, and each clock point says what it showed then.
#ifndef HEAPSONDE_STORE_CLOCK_POINTS_H
#define HEAPSONDE_STORE_CLOCK_POINTS_H

#include "host/store/layout.h"

struct hs_clock_points {
    const struct hs_clock_point *point; // in order of time; those without a `realtime_ns` count for nothing
    size_t count;
    uint64_t start_realtime_ns; // before the first of them
};

// The clock's time at a time of the store, and the interval around it in which the clock is not set: from *from to
// before *until.
uint64_t hs_clock_points__at(const struct hs_clock_points *points, uint64_t time, uint64_t *from, uint64_t *until);
// The same, or what the clock would have shown then if it had already been set as it was later, whichever is later:
// machines start with an old time until they learn the right one.
uint64_t hs_clock_points__latest(const struct hs_clock_points *points, uint64_t time);
// The first time at which the clock shows `realtime_ns` or more; UINT64_MAX: never.
uint64_t hs_clock_points__time_of(const struct hs_clock_points *points, uint64_t realtime_ns);

#endif
