// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/base/array.h"
#include "host/query/drop_pages.h"
#include "host/query/event_log.h"
#include "host/query/event_log_file.h"
#include "host/query/order.h"
#include "host/query/scratch.h"
#include "host/query/zone_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct hs_event_log_limits hs_event_log_limits = {(size_t)4 << 20, 32, (uint64_t)1 << 40};

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
    if (writing->log->events == writing->log->checkpoints * writing->log->every * HS_STRETCH_EVENTS)
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

// Zones between two calls that drop the pages of codes: codes of rows that ended are no longer needed.
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

static bool has_vast_sizes(const struct hs_dictionary *dictionary)
{
    for (size_t i = 0; i < dictionary->count; i++)
        if (hs_event_log__is_vast(&dictionary->code[i]))
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
