// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/steps.h"

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

int hs_stepping__start(struct hs_stepping *stepping)
{
    stepping->columns = hs_store__columns(stepping->store);
    stepping->times = (struct hs_zone_times){0};
    stepping->matchers = hs_matchers__create(stepping->store, stepping->filter, stepping->workers);
    stepping->later = calloc(stepping->workers, sizeof(*stepping->later));
    stepping->steps = calloc(stepping->workers, sizeof(struct hs_steps *));
    if (!stepping->matchers || !stepping->later || !stepping->steps || index_zones(&stepping->times, stepping->store))
        return -ENOMEM;
    for (unsigned i = 0; i < stepping->workers; i++) {
        stepping->later[i].zone = calloc(stepping->times.count + 1, sizeof(struct hs_later_rows));
        stepping->steps[i] = malloc(sizeof(struct hs_steps));
        if (!stepping->later[i].zone || !stepping->steps[i])
            return -ENOMEM;
        stepping->steps[i]->free = NULL;
        stepping->steps[i]->free_time = NULL;
        stepping->steps[i]->frees = stepping->steps[i]->room = 0;
    }
    return 0;
}

static void free_later(struct hs_later *later, size_t zones)
{
    for (size_t i = 0; later->zone && i < zones; i++)
        free(later->zone[i].row);
    free(later->zone);
}

static void free_steps(struct hs_steps *steps)
{
    if (steps) {
        free(steps->free);
        free(steps->free_time);
    }
    free(steps);
}

void hs_stepping__end(struct hs_stepping *stepping)
{
    for (unsigned i = 0; stepping->later && i < stepping->workers; i++)
        free_later(&stepping->later[i], stepping->times.count);
    for (unsigned i = 0; stepping->steps && i < stepping->workers; i++)
        free_steps(stepping->steps[i]);
    hs_matchers__destroy(stepping->matchers, stepping->workers);
    free(stepping->later);
    free(stepping->steps);
    free(stepping->times.last);
    free(stepping->times.index);
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

static int make_room(struct hs_steps *steps, size_t wanted)
{
    if (wanted <= steps->room)
        return 0;
    size_t room = wanted + wanted / 4;
    struct hs_free *frees = realloc(steps->free, room * sizeof(*frees));
    if (frees)
        steps->free = frees;
    uint64_t *times = realloc(steps->free_time, room * sizeof(*times));
    if (times)
        steps->free_time = times;
    if (!frees || !times)
        return -ENOMEM;
    steps->room = room;
    return 0;
}

static void add_block(const struct hs_stepping *stepping, struct hs_matcher *matcher, struct hs_steps *steps,
                      uint64_t last_end)
{
    const uint64_t *times = hs_block__column(&matcher->block, HS_BLOCK_TIME);
    const uint64_t *free_times = hs_block__column(&matcher->block, HS_BLOCK_FREE_TIME);
    const uint64_t *sizes = hs_block__column(&matcher->block, HS_BLOCK_SIZE);
    for (size_t i = 0; i < matcher->count; i++) {
        size_t place = matcher->place[i];
        uint64_t time = times[place], end = free_times[place];
        size_t step = steps->count, freed = steps->frees;
        steps->time[step] = time;
        steps->size[step] = sizes[place];
        steps->row[step] = (uint32_t)hs_matcher__row(matcher, i);
        steps->ends_at_once[step] = end <= time;
        steps->count += time >= stepping->from && time <= stepping->to;
        steps->free_time[freed] = end;
        steps->free[freed] = (struct hs_free){.size = sizes[place], .row = steps->row[step]};
        steps->frees += end >= stepping->from && end <= last_end && end > time;
    }
}

// Values that lie all over are fetched so many rows before they are needed.
enum { AHEAD = 16 };

static void add_earlier(const struct hs_stepping *stepping, const struct hs_later_rows *rows, struct hs_steps *steps)
{
    const struct hs_columns *columns = stepping->columns;
    for (size_t i = 0; i < rows->count; i++) {
        uint32_t row = rows->row[i], ahead = rows->row[i + AHEAD < rows->count ? i + AHEAD : i];
        hs_packed__fetch(&columns->free_time, ahead);
        hs_packed__fetch(&columns->size, ahead);
        steps->free_time[steps->frees] = hs_row__free_time(columns, row);
        steps->free[steps->frees++] = (struct hs_free){.size = hs_row__size(columns, row), .row = row};
    }
}

int hs_stepping__read(struct hs_stepping *stepping, unsigned worker, size_t zone)
{
    struct hs_steps *steps = stepping->steps[worker];
    struct hs_matcher *matcher = stepping->matchers[worker];
    const struct hs_zone_times *times = &stepping->times;
    const uint64_t last_end = stepping->to < times->last[zone] ? stepping->to : times->last[zone];
    const uint64_t blocks = HS_ZONE_ROWS / HS_PACKED_BLOCK, rows = stepping->columns->rows;
    size_t frees = HS_ZONE_ROWS + 1;
    for (unsigned w = 0; w < stepping->workers; w++)
        frees += stepping->later[w].zone[zone].count;
    if (make_room(steps, frees))
        return -ENOMEM;
    steps->count = steps->frees = 0;
    bool matches =
        hs_filter__zone_may_match(stepping->filter, &times->zone[zone], hs_store__summary(stepping->store)->end_time);
    for (uint64_t block = zone * blocks; matches && block < (zone + 1) * blocks && block * HS_PACKED_BLOCK < rows;
         block++)
        if (hs_matcher__match(matcher, block))
            add_block(stepping, matcher, steps, last_end);
    for (unsigned w = 0; w < stepping->workers; w++)
        add_earlier(stepping, &stepping->later[w].zone[zone], steps);
    hs_time_index__make(&steps->index, steps->time, steps->count);
    for (size_t i = 0; i < steps->frees; i++)
        steps->free[i].step = (uint32_t)hs_time_index__find(&steps->index, steps->free_time[i]);
    return 0;
}
