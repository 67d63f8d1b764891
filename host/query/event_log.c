// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/event_log.h"

#include "host/base/array.h"
#include "host/base/search.h"
#include "host/query/event_log_file.h"
#include "host/query/scan.h"

#include <errno.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include <stdlib.h>
#include <string.h>

// ---- where in time -------------------------------------------------------------------------------------------------

static bool asks_for_vast_sizes(const struct hs_event_log *log, const struct hs_filter *filter)
{
    const struct hs_dictionary *dictionary = log->dictionary;
    for (size_t i = 0; log->has_vast_sizes && i < dictionary->count; i++)
        if (hs_event_log__is_vast(&dictionary->code[i]) && hs_code__matches(&dictionary->code[i], filter))
            return true;
    return false;
}

bool hs_event_log__suits(const struct hs_event_log *log, const struct hs_store *store, const struct hs_filter *filter)
{
    return log && hs_dictionary__knows(log->dictionary, store, filter) &&
           hs_dictionary__count(log->dictionary, filter) >=
               hs_store__columns(store)->rows / hs_event_log_limits.share &&
           !asks_for_vast_sizes(log, filter);
}

// A block whose times were read last.
struct times {
    uint64_t block;
    size_t count;
    uint64_t time[HS_PACKED_BLOCK];
};

static void read_times(const struct hs_event_log *log, uint64_t block, struct times *times)
{
    if (times->count && times->block == block)
        return;
    times->block = block;
    times->count = hs_packed__read_block(&log->gap, block, times->time);
    uint64_t time = log->block_time[block];
    for (size_t i = 0; i < times->count; i++)
        times->time[i] = time += times->time[i];
}

// How many of the values, which are in order, are below a limit.
static size_t count_below(const uint64_t *value, size_t count, uint64_t limit)
{
    return HS_SEARCH(count, i, value[i] < limit);
}

// The first event that is not before the time.
static uint64_t find_time(const struct hs_event_log *log, uint64_t time, struct times *times)
{
    const size_t blocks = count_below(log->block_time, log->blocks, time);
    if (!blocks)
        return 0;
    read_times(log, blocks - 1, times);
    return (uint64_t)(blocks - 1) * HS_PACKED_BLOCK + count_below(times->time, times->count, time);
}

// ---- sums along it -------------------------------------------------------------------------------------------------

struct level {
    int64_t bytes, count;
};

// Both in a vector. The numbers are whole; vectors of doubles have the faster comparison for the larger one.
typedef double level_vector __attribute__((vector_size(16)));

// What an event adds, by its code and whether it is a free; 0 if the code does not match the filter.
static level_vector *work_out_changes(const struct hs_event_log *log, const struct hs_filter *filter)
{
    const struct hs_dictionary *dictionary = log->dictionary;
    level_vector *change = aligned_alloc(sizeof(*change), (2 * dictionary->count + 1) * sizeof(*change));
    for (size_t i = 0; change && i < dictionary->count; i++) {
        const bool matches = hs_code__matches(&dictionary->code[i], filter);
        change[2 * i] = (level_vector){matches ? (double)dictionary->code[i].size : 0, matches};
        change[2 * i + 1] = -change[2 * i];
    }
    return change;
}

static inline struct level level_of(level_vector vector)
{
    return (struct level){(int64_t)vector[0], (int64_t)vector[1]};
}

static inline void add_level(struct level *to, struct level from)
{
    to->bytes += from.bytes;
    to->count += from.count;
}

static void find_stretch(const struct hs_event_log *log, uint64_t first_row, uint64_t end_row, uint64_t *first,
                         uint64_t *end)
{
    *first = 2 * first_row < log->events ? 2 * first_row : log->events;
    *end = 2 * end_row < log->events ? 2 * end_row : log->events;
}

// Pages that were read stay in the kernel's cache; what is resident of a large log is small.
static void drop_event_pages(const struct hs_event_log *log, uint64_t first, uint64_t end)
{
    if (first < end)
        hs_packed__drop_pages(&log->code, first / HS_PACKED_BLOCK, (end - 1) / HS_PACKED_BLOCK + 1);
}

// Events one after the other: of a stretch those in one point of the timeline, or all. Levels are above what was there
// before the first.
struct event_log_run {
    size_t point;
    struct level sum, most;
    struct level moved; // allocated and freed together
};

struct event_log_stretch {
    struct event_log_run *run;
    size_t count, room;
    struct level before; // of events before the timeline begins
};

struct event_log_drawing {
    const struct hs_event_log *log;
    const level_vector *change;
    const uint64_t *begin; // the first event of each point, and the end of the last
    size_t points;
    size_t checkpoint; // the last one before the first point
    struct event_log_stretch *stretch;
};

static struct event_log_run *run_of(struct event_log_stretch *stretch, size_t point)
{
    if (stretch->count && stretch->run[stretch->count - 1].point == point)
        return &stretch->run[stretch->count - 1];
    if (!HS_ARRAY_HAS_ROOM(stretch->run, stretch->count, stretch->room))
        return NULL;
    stretch->run[stretch->count] = (struct event_log_run){.point = point};
    return &stretch->run[stretch->count++];
}

static inline level_vector larger(level_vector a, level_vector b)
{
#ifdef __SSE2__
    return _mm_max_pd(a, b);
#else
    typedef int64_t bits __attribute__((vector_size(16)));
    const bits is_larger = a > b;
    return (level_vector)((is_larger & (bits)a) | (~is_larger & (bits)b));
#endif
}

static inline level_vector amount(level_vector change)
{
    return larger(change, -change);
}

static void append_run(struct event_log_run *run, level_vector sum, level_vector most, level_vector moved)
{
    const struct level above = level_of(most);
    run->most.bytes = run->sum.bytes + above.bytes > run->most.bytes ? run->sum.bytes + above.bytes : run->most.bytes;
    run->most.count = run->sum.count + above.count > run->most.count ? run->sum.count + above.count : run->most.count;
    add_level(&run->sum, level_of(sum));
    add_level(&run->moved, level_of(moved));
}

// Each sum waits for the one before it: several parts of the events, one behind the other, are summed up side by side.
enum { PARTS = 4 };

static void add_run(struct event_log_run *run, const level_vector *restrict change, const uint64_t *restrict code,
                    size_t count)
{
    level_vector sum[PARTS + 1] = {{0}}, most[PARTS + 1] = {{0}}, moved[PARTS + 1] = {{0}};
    const size_t each = count / PARTS;
    for (size_t i = 0; i < each; i++) {
#pragma GCC unroll 4
        for (size_t part = 0; part < PARTS; part++) {
            const level_vector here = change[code[i + part * each]];
            sum[part] += here;
            most[part] = larger(sum[part], most[part]);
            moved[part] += amount(here);
        }
    }
    for (size_t i = PARTS * each; i < count; i++) {
        sum[PARTS] += change[code[i]];
        most[PARTS] = larger(sum[PARTS], most[PARTS]);
        moved[PARTS] += amount(change[code[i]]);
    }
    for (size_t part = 0; part <= PARTS; part++)
        append_run(run, sum[part], most[part], moved[part]);
}

// The events [first, end) of a block that begins with the event `base`.
static int draw_block(const struct event_log_drawing *drawing, struct event_log_stretch *stretch, const uint64_t *code,
                      uint64_t base, uint64_t end, size_t *point)
{
    const uint64_t *begin = drawing->begin;
    uint64_t at = base;
    for (; at < end && at < begin[0]; at++)
        add_level(&stretch->before, level_of(drawing->change[code[at - base]]));
    while (at < end && *point < drawing->points) {
        const uint64_t behind = end < begin[*point + 1] ? end : begin[*point + 1];
        struct event_log_run *run = behind > at ? run_of(stretch, *point) : NULL;
        if (behind > at && !run)
            return -ENOMEM;
        if (run)
            add_run(run, drawing->change, code + (at - base), behind - at);
        at = behind > at ? behind : at;
        *point += at == begin[*point + 1];
    }
    return 0;
}

static int draw_stretch(void *argument, unsigned worker, uint64_t first_row, uint64_t end_row)
{
    const struct event_log_drawing *drawing = argument;
    struct event_log_stretch *stretch = &drawing->stretch[first_row / HS_ZONE_ROWS];
    uint64_t code[HS_PACKED_BLOCK], first, end;
    int failed = 0;
    (void)worker;
    if (first_row / HS_ZONE_ROWS < drawing->checkpoint * drawing->log->every)
        return 0;
    find_stretch(drawing->log, first_row, end_row, &first, &end);
    end = end < drawing->begin[drawing->points] ? end : drawing->begin[drawing->points];
    size_t point = count_below(drawing->begin + 1, drawing->points, first + 1);
    for (uint64_t at = first; at < end && !failed; at += HS_PACKED_BLOCK) {
        const uint64_t behind = end - at < HS_PACKED_BLOCK ? end : at + HS_PACKED_BLOCK;
        hs_packed__read_block(&drawing->log->code, at / HS_PACKED_BLOCK, code);
        failed = draw_block(drawing, stretch, code, at, behind, &point);
    }
    drop_event_pages(drawing->log, first, end);
    return failed;
}

static void fill_point(struct hs_timeline_point *point, struct level *level, const struct event_log_run *run)
{
    const uint64_t bytes = (uint64_t)(level->bytes + run->most.bytes),
                   count = (uint64_t)(level->count + run->most.count);
    point->live_bytes_max = bytes > point->live_bytes_max ? bytes : point->live_bytes_max;
    point->live_count_max = count > point->live_count_max ? count : point->live_count_max;
    point->allocated_bytes += (uint64_t)(run->moved.bytes + run->sum.bytes) / 2;
    point->allocated_count += (uint64_t)(run->moved.count + run->sum.count) / 2;
    point->freed_bytes += (uint64_t)(run->moved.bytes - run->sum.bytes) / 2;
    point->freed_count += (uint64_t)(run->moved.count - run->sum.count) / 2;
    add_level(level, run->sum);
}

static struct level sum_there(const struct hs_event_log *log, size_t checkpoint, const level_vector *change)
{
    const size_t codes = log->dictionary->count;
    const uint32_t *there = log->there + checkpoint * codes;
    struct level level = {0};
    for (size_t i = 0; checkpoint && i < codes; i++) {
        const struct level each = level_of(change[2 * i]);
        add_level(&level, (struct level){there[i] * each.bytes, there[i] * each.count});
    }
    return level;
}

static void fill_points(const struct event_log_drawing *drawing, size_t stretches, struct hs_timeline *timeline)
{
    struct level level = sum_there(drawing->log, drawing->checkpoint, drawing->change);
    size_t stretch = 0, run = 0;
    for (size_t i = 0; i < stretches; i++)
        add_level(&level, drawing->stretch[i].before);
    for (size_t i = 0; i < timeline->count; i++) {
        struct hs_timeline_point *point = &timeline->point[i];
        point->live_bytes_max = (uint64_t)level.bytes;
        point->live_count_max = (uint64_t)level.count;
        while (stretch < stretches) {
            const struct event_log_stretch *here = &drawing->stretch[stretch];
            if (run < here->count && here->run[run].point != i)
                break;
            if (run < here->count) {
                fill_point(point, &level, &here->run[run++]);
            } else {
                stretch++;
                run = 0;
            }
        }
        point->live_bytes_end = (uint64_t)level.bytes;
        point->live_count_end = (uint64_t)level.count;
    }
}

static size_t checkpoint_before(const struct hs_event_log *log, uint64_t event)
{
    const size_t checkpoint = event / (log->every * HS_STRETCH_EVENTS);
    return checkpoint < log->checkpoints ? checkpoint : log->checkpoints ? log->checkpoints - 1 : 0;
}

// The positions of the points in the log, and the end of the last one.
static uint64_t *find_points(const struct hs_event_log *log, const struct hs_timeline *timeline, uint64_t to)
{
    uint64_t *begin = malloc((timeline->count + 1) * sizeof(*begin));
    struct times *times = calloc(1, sizeof(*times));
    for (size_t i = 0; begin && times && i < timeline->count; i++) {
        const bool is_behind = i && (to - timeline->from) / i < timeline->width;
        begin[i] = find_time(log, is_behind ? to + 1 : timeline->from + i * timeline->width, times);
    }
    if (begin && times)
        begin[timeline->count] = find_time(log, to + 1, times);
    else {
        free(begin);
        begin = NULL;
    }
    free(times);
    return begin;
}

int hs_event_log__timeline(const struct hs_event_log *log, const struct hs_filter *filter, uint64_t to,
                           const struct hs_query_control *control, struct hs_timeline *timeline, struct hs_error *error)
{
    const struct hs_store *store = log->dictionary->store;
    size_t stretches;
    hs_store__zones(store, &stretches);
    level_vector *change = work_out_changes(log, filter);
    uint64_t *begin = find_points(log, timeline, to);
    struct event_log_drawing drawing = {.log = log,
                                        .change = change,
                                        .begin = begin,
                                        .points = timeline->count,
                                        .checkpoint = begin ? checkpoint_before(log, begin[0]) : 0,
                                        .stretch = calloc(stretches + 1, sizeof(struct event_log_stretch))};
    const struct hs_scan scan = {store,        NULL,     control, hs_scan__workers(store, control),
                                 draw_stretch, &drawing, false,   0};
    int failed = change && begin && drawing.stretch ? hs_scan__run(&scan, error)
                                                    : hs_error__set(error, ENOMEM, "query: out of memory");
    if (!failed)
        fill_points(&drawing, stretches, timeline);
    for (size_t i = 0; drawing.stretch && i < stretches; i++)
        free(drawing.stretch[i].run);
    free(drawing.stretch);
    free(change);
    free(begin);
    return failed;
}

// ---- peaks ---------------------------------------------------------------------------------------------------------

struct climbing {
    const struct hs_event_log *log;
    const level_vector *change;
    struct event_log_run *rise; // by stretch
};

static int climb_stretch(void *argument, unsigned worker, uint64_t first_row, uint64_t end_row)
{
    const struct climbing *climbing = argument;
    uint64_t code[HS_PACKED_BLOCK], first, end;
    (void)worker;
    find_stretch(climbing->log, first_row, end_row, &first, &end);
    for (uint64_t at = first; at < end; at += HS_PACKED_BLOCK) {
        const uint64_t count = end - at < HS_PACKED_BLOCK ? end - at : HS_PACKED_BLOCK;
        hs_packed__read_block(&climbing->log->code, at / HS_PACKED_BLOCK, code);
        add_run(&climbing->rise[first_row / HS_ZONE_ROWS], climbing->change, code, count);
    }
    drop_event_pages(climbing->log, first, end);
    return 0;
}

// The stretch with the highest level and that; `stretches` when there is none above 0.
static size_t find_highest(const struct climbing *climbing, size_t stretches, int64_t *most)
{
    struct level level = {0};
    size_t best = stretches;
    *most = 0;
    for (size_t i = 0; i < stretches; i++) {
        const struct event_log_run *rise = &climbing->rise[i];
        if (level.bytes + rise->most.bytes > *most) {
            *most = level.bytes + rise->most.bytes;
            best = i;
        }
        add_level(&level, rise->sum);
    }
    return best;
}

static uint64_t usable_there(const struct climbing *climbing, size_t checkpoint)
{
    const struct hs_dictionary *dictionary = climbing->log->dictionary;
    uint64_t usable = 0;
    for (size_t i = 0; checkpoint && i < dictionary->count; i++)
        if (level_of(climbing->change[2 * i]).count)
            usable += climbing->log->there[checkpoint * dictionary->count + i] * dictionary->code[i].usable;
    return usable;
}

// Goes on from what is known until the first event from `first` on after which there is as much as `most`.
static uint64_t find_summit(const struct climbing *climbing, uint64_t first, int64_t most, struct hs_live_total *peak)
{
    const struct hs_event_log *log = climbing->log;
    const size_t checkpoint = checkpoint_before(log, first);
    struct level level = sum_there(log, checkpoint, climbing->change);
    uint64_t code[HS_PACKED_BLOCK], usable = usable_there(climbing, checkpoint);
    uint64_t event = checkpoint * log->every * HS_STRETCH_EVENTS;
    for (bool found = false; !found && event < log->events; event++) {
        if (event % HS_PACKED_BLOCK == 0)
            hs_packed__read_block(&log->code, event / HS_PACKED_BLOCK, code);
        const uint64_t here = code[event % HS_PACKED_BLOCK];
        const struct level change = level_of(climbing->change[here]);
        add_level(&level, change);
        usable += change.count ? (uint64_t)change.count * log->dictionary->code[here / 2].usable : 0;
        found = event >= first && level.bytes == most;
    }
    *peak = (struct hs_live_total){(uint64_t)level.bytes, usable, (uint64_t)level.count};
    return event - 1;
}

int hs_event_log__peak(const struct hs_event_log *log, const struct hs_filter *filter,
                       const struct hs_query_control *control, struct hs_live_total *peak, uint64_t *time,
                       struct hs_error *error)
{
    const struct hs_store *store = log->dictionary->store;
    level_vector *change = work_out_changes(log, filter);
    size_t stretches;
    hs_store__zones(store, &stretches);
    struct climbing climbing = {log, change, calloc(stretches + 1, sizeof(*climbing.rise))};
    struct times *times = calloc(1, sizeof(*times));
    const struct hs_scan scan = {store,         NULL,      control, hs_scan__workers(store, control),
                                 climb_stretch, &climbing, false,   0};
    int failed = change && climbing.rise && times ? hs_scan__run(&scan, error)
                                                  : hs_error__set(error, ENOMEM, "query: out of memory");
    int64_t most = 0;
    const size_t best = failed ? stretches : find_highest(&climbing, stretches, &most);
    if (best < stretches) {
        const uint64_t event = find_summit(&climbing, best * HS_STRETCH_EVENTS, most, peak);
        read_times(log, event / HS_PACKED_BLOCK, times);
        *time = times->time[event % HS_PACKED_BLOCK];
    }
    free(times);
    free(change);
    free(climbing.rise);
    return failed;
}
