// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The clock of a trace without its other tables.
#ifndef HEAPSONDE_IMPORT_TRACE_CLOCK_H
#define HEAPSONDE_IMPORT_TRACE_CLOCK_H

#include "host/import/clock_map.h"
#include "host/import/import.h"
#include "host/import/row_ends.h"
#include "host/import/ties.h"

// The same map as an import makes. To be freed with hs_clock_map__free. Returns 0 or -ENOMEM.
int hs_trace_clock__create(struct hs_clock_map *map, const struct hs_trace *trace);

// What an import does with each recorded time: ns that are not before `now`, the result for the time before.
static inline uint64_t hs_trace_clock__next(struct hs_clock_map *map, uint64_t now, uint64_t time)
{
    uint64_t ns = hs_clock_map__ns(map, time);
    return ns > now && ns <= LAST_TIME ? ns : now;
}

// hs_ties.window for times of this clock.
static inline uint64_t hs_trace_clock__window(const struct hs_clock_map *map)
{
    return map->is_counter && map->segment[0].multiplier < (uint64_t)4 << 32 ? HS_TIES_NS : 0;
}

#endif
