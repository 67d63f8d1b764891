// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/event_log.h"

#include "host/base/array.h"
#include "host/base/search.h"
#include "host/query/drop_pages.h"
#include "host/query/order.h"
#include "host/query/scan.h"
#include "host/query/scratch.h"
#include "host/query/zone_events.h"

#include <errno.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include <stdlib.h>
#include <string.h>

struct hs_event_log {
    const struct hs_dictionary *dictionary;
    uint64_t events;
    struct hs_packed code; // twice the code of the row; one more for a free
    struct hs_packed gap;  // ns since the event before, 0 at the begin of a block
    uint64_t *block_time;  // of the first event of each block
    size_t blocks;
    // The live rows of each code at the start of every `every`-th stretch.
    uint32_t *there;
    size_t every, checkpoints, checkpoint_room;
    bool has_vast_sizes;
};

// Events are summed up in stretches, on several threads. There are no more than two events for each row: a zone's share
// of a scan is a stretch.
enum { STRETCH_EVENTS = 2 * HS_ZONE_ROWS };

struct hs_event_log_limits hs_event_log_limits = {(size_t)4 << 20, 32, (uint64_t)1 << 40};

// ---- making --------------------------------------------------------------------------------------------------------

struct event_log_writing {
    struct hs_event_log *log;
    struct hs_packed_writer code_writer, gap_writer;
    uint64_t code[HS_PACKED_BLOCK], gap[HS_PACKED_BLOCK];
    size_t count, room;
    uint64_t last_time;
    int failed;
    // The frees of a zone in order, and the index of the first free right before each zone event.
    struct hs_keyed_row *frees;
    size_t free_room;
    uint32_t begin[HS_ZONE_ROWS + 3];
    struct hs_later_rows behind; // rows that end after everything was allocated
    uint32_t *there;             // by code
    const int *cancel;
};

static void end_block(struct event_log_writing *writing)
{
    hs_packed_writer__add(&writing->code_writer, writing->code, writing->count);
    hs_packed_writer__add(&writing->gap_writer, writing->gap, writing->count);
    writing->count = 0;
}

static void start_block(struct event_log_writing *writing, uint64_t time)
{
    struct hs_event_log *log = writing->log;
    writing->last_time = time;
    if (!HS_ARRAY_HAS_ROOM(log->block_time, log->blocks, writing->room)) {
        writing->failed = -ENOMEM;
        return;
    }
    log->block_time[log->blocks++] = time;
}

static void note_there(struct event_log_writing *writing)
{
    struct hs_event_log *log = writing->log;
    const size_t codes = log->dictionary->count;
    if (log->checkpoints == log->checkpoint_room) {
        writing->failed = -EIO; // the store's files are being changed
        return;
    }
    memcpy(log->there + log->checkpoints * codes, writing->there, codes * sizeof(*log->there));
    log->checkpoints++;
}

static void write_event(struct event_log_writing *writing, uint64_t time, uint32_t row, bool is_free)
{
    const uint64_t code = hs_packed__at(&writing->log->dictionary->of_row, row);
    if (!writing->count)
        start_block(writing, time);
    if (writing->log->events == writing->log->checkpoints * writing->log->every * STRETCH_EVENTS)
        note_there(writing);
    writing->there[code] += is_free ? UINT32_MAX : 1;
    writing->code[writing->count] = 2 * code + is_free;
    writing->gap[writing->count] = time > writing->last_time ? time - writing->last_time : 0;
    writing->last_time = time > writing->last_time ? time : writing->last_time;
    writing->log->events++;
    if (++writing->count == HS_PACKED_BLOCK)
        end_block(writing);
}

// Few nearly always.
static void sort_frees(struct hs_keyed_row *frees, size_t count)
{
    enum { FEW = 16 };
    if (count > FEW) {
        hs_keyed_rows__sort(frees, count);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        const struct hs_keyed_row here = frees[i];
        size_t at = i;
        for (; at && hs_keyed_row__is_before(&here, &frees[at - 1]); at--)
            frees[at] = frees[at - 1];
        frees[at] = here;
    }
}

static int order_frees(struct event_log_writing *writing, const struct hs_zone_events *zone_events)
{
    uint32_t *begin = writing->begin;
    if (zone_events->frees > writing->free_room) {
        const size_t room = zone_events->frees + zone_events->frees / 4;
        struct hs_keyed_row *grown = realloc(writing->frees, room * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        writing->frees = grown;
        writing->free_room = room;
    }
    memset(begin, 0, (zone_events->count + 3) * sizeof(*begin));
    for (size_t i = 0; i < zone_events->frees; i++)
        begin[zone_events->free[i].zone_event + 2]++;
    for (size_t zone_event = 0; zone_event <= zone_events->count; zone_event++)
        begin[zone_event + 2] += begin[zone_event + 1];
    for (size_t i = 0; i < zone_events->frees; i++)
        writing->frees[begin[zone_events->free[i].zone_event + 1]++] =
            (struct hs_keyed_row){zone_events->free_time[i], zone_events->free[i].row};
    // Without any there may be no memory for them either.
    for (size_t zone_event = 0; zone_events->frees && zone_event <= zone_events->count; zone_event++)
        sort_frees(writing->frees + begin[zone_event], begin[zone_event + 1] - begin[zone_event]);
    return 0;
}

static int write_zone(struct event_log_writing *writing, const struct hs_zone_events *zone_events)
{
    int failed = order_frees(writing, zone_events);
    for (size_t zone_event = 0; !failed && zone_event <= zone_events->count; zone_event++) {
        for (uint32_t i = writing->begin[zone_event]; i < writing->begin[zone_event + 1]; i++)
            write_event(writing, writing->frees[i].key, writing->frees[i].row, true);
        if (zone_event == zone_events->count)
            break;
        write_event(writing, zone_events->time[zone_event], zone_events->row[zone_event], false);
        if (zone_events->ends_at_once[zone_event])
            write_event(writing, zone_events->time[zone_event], zone_events->row[zone_event], true);
    }
    return failed ? failed : writing->failed;
}

static int write_rows_behind(struct event_log_writing *writing)
{
    const struct hs_columns *columns = hs_store__columns(writing->log->dictionary->store);
    const struct hs_later_rows *behind = &writing->behind;
    struct hs_keyed_row *frees = malloc((behind->count + 1) * sizeof(*frees));
    if (!frees)
        return -ENOMEM;
    for (size_t i = 0; i < behind->count; i++)
        frees[i] = (struct hs_keyed_row){hs_row__free_time(columns, behind->row[i]), behind->row[i]};
    hs_keyed_rows__sort(frees, behind->count);
    for (size_t i = 0; i < behind->count; i++)
        write_event(writing, frees[i].key, frees[i].row, true);
    free(frees);
    return writing->failed;
}

static bool is_cancelled(const struct event_log_writing *writing)
{
    return writing->cancel && __atomic_load_n(writing->cancel, __ATOMIC_RELAXED);
}

// Which rows end in later zones, and behind all of them.
static int note_ends(struct event_log_writing *writing, struct hs_zone_event_scan *event_scan)
{
    struct hs_matcher *matcher = event_scan->matchers[0];
    const uint64_t rows = event_scan->columns->rows;
    const uint64_t last = event_scan->times.count ? event_scan->times.last[event_scan->times.count - 1] : 0;
    int failed = 0;
    for (uint64_t block = 0; !failed && block * HS_PACKED_BLOCK < rows; block++) {
        if (is_cancelled(writing))
            return -ECANCELED;
        size_t count = hs_matcher__match(matcher, block);
        const uint64_t *time = hs_column_block__column(&matcher->block, HS_BLOCK_TIME);
        const uint64_t *end = hs_column_block__column(&matcher->block, HS_BLOCK_FREE_TIME);
        for (size_t i = 0; !failed && i < count; i++) {
            if (end[i] == HS_NEVER || end[i] <= time[i])
                continue;
            failed = end[i] > last ? hs_later__add(&writing->behind, block * HS_PACKED_BLOCK + i)
                                   : hs_zone_event_scan__note(event_scan, 0, block * HS_PACKED_BLOCK / HS_ZONE_ROWS,
                                                              block * HS_PACKED_BLOCK + i, end[i]);
        }
        hs_columns__drop_pages_behind(event_scan->columns, block);
    }
    return failed;
}

// Zones between two calls that drop the pages of codes: codes of rows that ended are not needed any more.
enum { DROP_ZONES = 64 };

static int write_events(struct event_log_writing *writing)
{
    struct hs_filter all;
    hs_filter__init(&all);
    all.domains = (1u << HS_DOMAIN_COUNT) - 1;
    struct hs_zone_event_scan event_scan = {
        .store = writing->log->dictionary->store, .filter = &all, .to = HS_NEVER - 1, .workers = 1};
    int failed = hs_zone_event_scan__start(&event_scan);
    if (!failed)
        failed = note_ends(writing, &event_scan);
    for (size_t zone = 0; !failed && zone < event_scan.times.count; zone++) {
        failed = is_cancelled(writing) ? -ECANCELED : hs_zone_event_scan__read(&event_scan, 0, zone);
        if (!failed)
            failed = write_zone(writing, event_scan.zone_events[0]);
        hs_columns__drop_pages_behind(event_scan.columns, (zone + 1) * (HS_ZONE_ROWS / HS_PACKED_BLOCK) - 1);
        if (zone % DROP_ZONES == 0)
            hs_packed__drop_pages(&writing->log->dictionary->of_row, 0, UINT64_MAX);
    }
    if (!failed)
        failed = write_rows_behind(writing);
    if (!failed && writing->count)
        end_block(writing);
    hs_zone_event_scan__end(&event_scan);
    return failed;
}

static int finish(struct hs_packed_writer *writer, int failed)
{
    if (!failed)
        return hs_packed_writer__finish(writer);
    hs_packed_writer__abandon(writer);
    return failed;
}

static int write_files(struct event_log_writing *writing, int directory_fd)
{
    int failed = hs_packed_writer__create(&writing->code_writer, directory_fd, "codes");
    if (failed)
        return failed;
    failed = hs_packed_writer__create(&writing->gap_writer, directory_fd, "gaps");
    if (failed)
        return finish(&writing->code_writer, failed);
    failed = write_events(writing);
    failed = finish(&writing->code_writer, failed);
    return finish(&writing->gap_writer, failed);
}

static int make_files(struct event_log_writing *writing)
{
    struct hs_event_log *log = writing->log;
    struct hs_scratch scratch;
    int failed = hs_scratch__make(&scratch, "events");
    if (!failed)
        failed = write_files(writing, scratch.fd);
    if (!failed)
        failed = hs_packed__open(&log->code, scratch.fd, "codes", log->events);
    if (!failed)
        failed = hs_packed__open(&log->gap, scratch.fd, "gaps", log->events);
    hs_scratch__unlink(&scratch, "codes");
    hs_scratch__unlink(&scratch, "gaps");
    hs_scratch__remove(&scratch);
    return failed;
}

// Sizes of a block's events are added up as floating-point numbers, which know 53 bits.
static bool is_vast(const struct hs_code *code)
{
    return code->size >= hs_event_log_limits.vast;
}

static bool has_vast_sizes(const struct hs_dictionary *dictionary)
{
    for (size_t i = 0; i < dictionary->count; i++)
        if (is_vast(&dictionary->code[i]))
            return true;
    return false;
}

// A checkpoint takes room for each code, so there are fewer of them if there are many codes.
static int make_room(struct event_log_writing *writing)
{
    struct hs_event_log *log = writing->log;
    const size_t codes = log->dictionary->count + 1;
    size_t stretches;
    hs_store__zones(log->dictionary->store, &stretches);
    log->every = (stretches + 1) * codes / hs_event_log_limits.there + 1;
    log->checkpoint_room = stretches / log->every + 2;
    writing->there = calloc(codes, sizeof(*writing->there));
    log->there = malloc(log->checkpoint_room * codes * sizeof(*log->there));
    return writing->there && log->there ? 0 : -ENOMEM;
}

int hs_event_log__make(struct hs_event_log **result, const struct hs_dictionary *dictionary,
                       const struct hs_query_control *control, struct hs_error *error)
{
    struct hs_event_log *log = calloc(1, sizeof(*log));
    struct event_log_writing *writing = calloc(1, sizeof(*writing));
    int failed = log && writing ? 0 : -ENOMEM;
    *result = NULL;
    if (!failed) {
        log->dictionary = dictionary;
        writing->log = log;
        writing->cancel = control ? control->cancel : NULL;
        log->has_vast_sizes = has_vast_sizes(dictionary);
        failed = make_room(writing);
    }
    if (!failed) {
        failed = make_files(writing);
        hs_packed__drop_pages(&dictionary->of_row, 0, UINT64_MAX);
    }
    if (writing) {
        free(writing->there);
        free(writing->frees);
        free(writing->behind.row);
    }
    free(writing);
    if (!failed) {
        *result = log;
        return 0;
    }
    hs_event_log__destroy(log);
    return hs_error__set(error, -failed, "event log: %s", strerror(-failed));
}

uint64_t hs_event_log__bytes(const struct hs_event_log *log)
{
    return log->checkpoint_room * (log->dictionary->count + 1) * sizeof(*log->there) +
           log->blocks * sizeof(*log->block_time);
}

void hs_event_log__destroy(struct hs_event_log *log)
{
    if (!log)
        return;
    if (log->code.bytes)
        hs_packed__close(&log->code);
    if (log->gap.bytes)
        hs_packed__close(&log->gap);
    free(log->block_time);
    free(log->there);
    free(log);
}

// ---- where in time -------------------------------------------------------------------------------------------------

static bool asks_for_vast_sizes(const struct hs_event_log *log, const struct hs_filter *filter)
{
    const struct hs_dictionary *dictionary = log->dictionary;
    for (size_t i = 0; log->has_vast_sizes && i < dictionary->count; i++)
        if (is_vast(&dictionary->code[i]) && hs_code__matches(&dictionary->code[i], filter))
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
    const size_t checkpoint = event / (log->every * STRETCH_EVENTS);
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
    uint64_t event = checkpoint * log->every * STRETCH_EVENTS;
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
        const uint64_t event = find_summit(&climbing, best * STRETCH_EVENTS, most, peak);
        read_times(log, event / HS_PACKED_BLOCK, times);
        *time = times->time[event % HS_PACKED_BLOCK];
    }
    free(times);
    free(change);
    free(climbing.rise);
    return failed;
}
