// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The store knows how long each block lived; the trace's events are gone through in the order in which they were
// imported, beside its rows, and those of blocks that are kept are written again. All else of the trace is copied.
#include "host/convert/strip.h"

#include "host/base/array.h"
#include "host/convert/trace_file.h"
#include "host/import/live_map.h"
#include "host/import/ties.h"
#include "host/import/trace_clock.h"
#include "host/query/query.h"
#include "host/query/samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct strip_sums {
    uint64_t count, size, usable, lifetime;
};

struct strip_stream {
    uint64_t time; // recorded time of the last event
    uint32_t old;  // the row that the realloc in progress ends, + 1, or 0
};

struct stripping {
    struct hs_trace_file file;
    const struct hs_store *store;
    const struct hs_columns *columns;
    struct hs_live_map live; // address and row
    struct hs_array streams; // struct strip_stream
    struct hs_ties ties;
    struct hs_clock_map clock;
    uint64_t now; // ns
    uint64_t row; // the next one of the heap
    uint64_t shortest;
    struct strip_sums *sums; // by stack
    size_t stacks;
    double ticks; // per nanosecond
    bool has_faults;
};

// Also one whose end gives memory back, where it is known what was resident: without it that would stay.
static bool is_kept(const struct stripping *with, uint64_t row)
{
    uint64_t freed = hs_row__free_time(with->columns, row);
    return freed == HS_NEVER || freed - hs_row__time(with->columns, row) >= with->shortest ||
           (with->has_faults && hs_row__has_own_mapping(with->store, row));
}

// The row of an allocation that the trace tells of next; HS_NEVER where the store has none of it.
static uint64_t take_row(struct stripping *with, const struct hs_event *event)
{
    while (with->row < with->columns->rows && hs_kind_domain(hs_row__kind(with->columns, with->row)) != HS_DOMAIN_HEAP)
        with->row++;
    if (with->row == with->columns->rows || hs_row__address(with->columns, with->row) != event->address)
        return HS_NEVER;
    return with->row++;
}

static struct hs_live_entry *find(const struct stripping *with, uint64_t address)
{
    return hs_live_map__find(&with->live, address, HS_LIVE_HEAP);
}

static int begin(struct stripping *with, uint64_t address, uint64_t row)
{
    const struct hs_live_entry block = {.address = address, .row_plus_1 = (uint32_t)row + 1};
    if (hs_live_map__is_full(&with->live) && hs_live_map__grow(&with->live))
        return -ENOMEM;
    struct hs_live_entry *entry = find(with, address);
    if (entry->row_plus_1)
        *entry = block; // its free is missing
    else
        hs_live_map__fill(&with->live, entry, &block);
    return 0;
}

// Ends a block that is live and returns its row.
static uint32_t end(struct stripping *with, uint64_t address)
{
    struct hs_live_entry *entry = find(with, address);
    uint32_t row = entry->row_plus_1 - 1;
    hs_live_map__remove(&with->live, entry);
    return row;
}

// What waited for another thread may come behind an event of another kind with a later time.
static int write_event(struct stripping *with, uint32_t stream, const struct hs_event *event)
{
    struct strip_stream *state = hs_array__reach(&with->streams, stream, sizeof *state);
    struct hs_event written = *event;
    if (!state)
        return -ENOMEM;
    if (written.time < state->time)
        written.time = state->time;
    if (written.kind == HS_EVENT_REALLOC && written.begin_time < state->time)
        written.begin_time = state->time;
    state->time = written.time;
    hs_trace_file__event(&with->file, stream, &written);
    return with->file.failed;
}

static int allocate(struct stripping *with, uint32_t stream, const struct hs_event *event)
{
    uint64_t row = take_row(with, event);
    if (row == HS_NEVER)
        return 0;
    int result = begin(with, event->address, row);
    return result || !is_kept(with, row) ? result : write_event(with, stream, event);
}

static int write_free(struct stripping *with, uint32_t stream, const struct hs_event *event)
{
    return is_kept(with, end(with, event->address)) ? write_event(with, stream, event) : 0;
}

// The old block ends here unless the new one is kept, too, and both are one event at the end of the call.
static int begin_realloc(struct stripping *with, uint32_t stream, const struct hs_event *event)
{
    struct strip_stream *state = hs_array__reach(&with->streams, stream, sizeof *state);
    if (!state)
        return -ENOMEM;
    state->old = 0;
    if (!find(with, event->old_address)->row_plus_1)
        return 0;
    uint32_t row = end(with, event->old_address), next = hs_row__next(with->columns, row);
    if (!is_kept(with, row))
        return 0;
    if (next && is_kept(with, next)) {
        state->old = row + 1;
        return 0;
    }
    struct hs_event end = {
        .kind = HS_EVENT_FREE, .time = event->begin_time, .address = event->old_address, .stack = event->stack};
    return write_event(with, stream, &end);
}

static int end_realloc(struct stripping *with, uint32_t stream, const struct hs_event *event)
{
    struct hs_event plain = *event;
    struct strip_stream *state = hs_array__reach(&with->streams, stream, sizeof *state);
    if (!state)
        return -ENOMEM;
    if (!state->old) {
        plain.kind = HS_EVENT_MALLOC;
        plain.old_address = plain.begin_time = 0;
    }
    state->old = 0;
    return allocate(with, stream, &plain);
}

static bool begins_block(const struct hs_step *step)
{
    return step->kind == HS_EVENT_MALLOC || step->kind == HS_EVENT_CALLOC || step->kind == HS_EVENT_ALIGNED ||
           (step->kind == HS_EVENT_REALLOC && step->phase == HS_PHASE_END);
}

static bool ends_block(const struct hs_step *step)
{
    return step->kind == HS_EVENT_FREE || (step->kind == HS_EVENT_REALLOC && step->phase == HS_PHASE_BEGIN);
}

static int take(void *context, struct hs_step *step, bool last)
{
    struct stripping *with = context;
    const bool begins = begins_block(step), ends = ends_block(step);
    const bool is_live = (begins || ends) && find(with, step->address)->row_plus_1;
    if ((begins ? is_live : ends && !is_live) && !last)
        return HS_TIE_WAITS;
    struct hs_event event = hs_step__event(step);
    if (!step->event)
        event.time = step->slot;
    if (step->kind == HS_EVENT_REALLOC)
        return begins ? end_realloc(with, step->stream, &event) : begin_realloc(with, step->stream, &event);
    if (begins)
        return allocate(with, step->stream, &event);
    if (ends)
        return is_live ? write_free(with, step->stream, &event) : 0;
    return write_event(with, step->stream, &event);
}

static int visit(void *context, struct hs_step *steps, size_t count)
{
    struct stripping *with = context;
    int result = 0;
    for (size_t i = 0; i < count && !result; i++) {
        struct hs_step *step = &steps[i];
        if (step->stream >= HS_STREAM_LIMIT)
            return -EOVERFLOW;
        step->slot = step->time;
        with->now = step->time = hs_trace_clock__next(&with->clock, with->now, step->time);
        result = hs_ties__waits(&with->ties) ? hs_ties__expire(&with->ties, step->time) : 0;
        if (result)
            break;
        result = hs_ties__waits(&with->ties) ? hs_ties__visit(&with->ties, step) : take(with, step, false);
        if (result == HS_TIE_WAITS)
            result = hs_ties__hold(&with->ties, step);
    }
    return result;
}

// ---- sums ----------------------------------------------------------------------------------------------------------

static int add_up(void *context, const struct hs_store *store, uint64_t row)
{
    struct stripping *with = context;
    (void)store;
    if (is_kept(with, row))
        return 0;
    uint32_t stack = hs_row__stack(with->columns, row);
    uint64_t size = hs_row__size(with->columns, row);
    struct strip_sums *sums = &with->sums[stack < with->stacks ? stack : 0];
    sums->count++;
    sums->size += size;
    sums->usable += size + hs_row__slack(with->columns, row);
    sums->lifetime += hs_row__free_time(with->columns, row) - hs_row__time(with->columns, row);
    return 0;
}

static int write_sums(struct stripping *with, struct hs_strip *strip)
{
    hs_store__nodes(with->store, &with->stacks);
    const struct hs_query_control control = {.drops_pages = true};
    with->sums = calloc(with->stacks + 1, sizeof(*with->sums));
    int result = with->sums ? hs_query__each(with->store, NULL, &control, add_up, with, NULL) : -ENOMEM;
    for (size_t i = 0; !result && i < with->stacks; i++) {
        const struct strip_sums *sums = &with->sums[i];
        strip->left_out += sums->count;
        if (sums->count)
            hs_trace_file__culled(&with->file, (uint32_t)i, sums->count, sums->size, sums->usable,
                                  (uint64_t)((double)sums->lifetime * with->ticks));
    }
    return result;
}

// ---- the trace -----------------------------------------------------------------------------------------------------

static int copy_chunks(struct stripping *with, const struct hs_trace *trace)
{
    size_t count;
    const struct hs_trace_chunk *chunks = hs_trace__chunks(trace, &count);
    for (size_t i = 0; i < count; i++) {
        uint8_t *payload;
        size_t length;
        if (chunks[i].kind != HS_CHUNK_META && chunks[i].kind != HS_CHUNK_FILE)
            continue;
        int result = hs_trace__payload(trace, &chunks[i], &payload, &length);
        if (result == -ENOMEM)
            return result;
        if (result)
            continue;
        hs_trace_file__chunk(&with->file, chunks[i].kind, payload, length);
        free(payload);
    }
    return with->file.failed;
}

static int write_trace(struct stripping *with, const struct hs_trace *trace, FILE *out, struct hs_strip *strip)
{
    const struct hs_trace_info *info = hs_trace__info(trace);
    uint64_t end_ns = hs_store__summary(with->store)->end_time, end = info->header.live.end_time;
    with->ticks = end && end_ns ? (double)end / (double)end_ns : 1;
    int result = hs_trace_clock__create(&with->clock, trace);
    if (!result) {
        with->ties.window = hs_trace_clock__window(&with->clock);
        result = hs_live_map__create(&with->live);
    }
    if (!result)
        result = hs_trace_file__start(&with->file, out, &info->header);
    if (!result)
        result = copy_chunks(with, trace);
    const char *incomplete = hs_store__info(with->store, "incomplete");
    if (!result && incomplete)
        hs_trace_file__info(&with->file, "incomplete", incomplete);
    if (!result)
        result = hs_trace__replay_steps(trace, visit, with, &(struct hs_replay_counts){0});
    if (!result)
        result = hs_ties__settle(&with->ties);
    if (!result)
        result = write_sums(with, strip);
    return result ? result : hs_trace_file__finish(&with->file, end);
}

int hs_strip__write(const char *path, const struct hs_store *store, FILE *out, struct hs_strip *strip,
                    struct hs_error *error)
{
    struct stripping with = {.store = store,
                             .columns = hs_store__columns(store),
                             .shortest = strip->shortest_ns,
                             .has_faults = hs_events__are_in(HS_EVENTS_TOUCHED, store)};
    with.ties = (struct hs_ties){.take = take, .context = &with};
    struct hs_trace *trace = NULL;
    strip->left_out = 0;
    int result = hs_trace__open(path, &trace, error);
    if (result)
        return result;
    result = write_trace(&with, trace, out, strip);
    int failed = with.file.failed;
    hs_trace_file__free(&with.file);
    hs_live_map__free(&with.live);
    hs_ties__free(&with.ties);
    hs_clock_map__free(&with.clock);
    free(with.streams.data);
    free(with.sums);
    hs_trace__close(trace);
    if (result && result == failed && result != -ERANGE)
        return hs_error__set(error, -result, "the rest of %s cannot be written: %s; make room or choose another file",
                             path, strerror(-result));
    return result ? hs_error__set(error, -result, "%s: %s", path, hs_trace_file__problem(result)) : 0;
}
