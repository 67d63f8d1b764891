// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Converts recorded time to nanoseconds since recorded time 0: piecewise linear between the clock points of the trace.
#ifndef HEAPSONDE_IMPORT_CLOCK_MAP_H
#define HEAPSONDE_IMPORT_CLOCK_MAP_H

#include "format/trace_format.h"
#include "host/base/array.h"
#include "host/store/layout.h"

#include <stdbool.h>

struct hs_clock_segment {
    uint64_t start;      // recorded time
    uint64_t ns;         // at `start`
    uint64_t multiplier; // ns per tick, 32.32
};

struct hs_clock_map {
    struct hs_clock_segment *segment;
    size_t count;
    size_t current; // segment of the last conversion
    uint64_t current_end;
    bool is_counter; // of the processor
};

// For a trace with this header. `ticks_per_second`: its info of that name, or NULL. Sorts `points`. Returns 0 or
// -ENOMEM.
int hs_clock_map__create(struct hs_clock_map *map, const struct hs_file_header *header, const char *ticks_per_second,
                         struct hs_clock_point *points, size_t count);
void hs_clock_map__free(struct hs_clock_map *map);

// Moves to the segment that holds `time`.
void hs_clock_map__seek(struct hs_clock_map *map, uint64_t time);

static inline uint64_t hs_clock_map__ns(struct hs_clock_map *map, uint64_t time)
{
    const struct hs_clock_segment *segment = &map->segment[map->current];
    if (time < segment->start || time >= map->current_end) {
        hs_clock_map__seek(map, time);
        segment = &map->segment[map->current];
    }
    return segment->ns + (uint64_t)((unsigned __int128)(time - segment->start) * segment->multiplier >> 32);
}

// Appends the point of a record to points, which are struct hs_clock_point. Returns 0 or -ENOMEM.
struct hs_meta_record;
int hs_clock_map__add_point(struct hs_array *points, const struct hs_meta_record *record);

#endif
