// SPDX-License-Identifier: MIT OR Apache-2.0
//
// One import: from an opened trace to the files of a store in an empty directory.
#include "host/import/run.h"

#include "host/base/memory.h"
#include "host/import/aggregate_trace.h"
#include "host/import/builder.h"
#include "host/import/finish.h"
#include "host/import/partial.h"
#include "host/import/resume.h"
#include "host/import/snapshots.h"
#include "host/import/step.h"
#include "host/import/store_key.h"
#include "host/import/tables.h"
#include "host/import/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// Number of events: some ten seconds of work. Most traces are imported before the first state would be kept.
#define PARTIAL_EVERY ((uint64_t)1 << 27)

struct import {
    const struct hs_trace *trace;
    const struct hs_import_options *options;
    struct hs_import_tables tables;
    struct hs_builder builder;
    struct hs_store_head head;
    struct hs_replay_counts counts;
    const struct hs_resume *resume; // NULL: from the start
    int directory_fd;
    uint64_t settled;
    struct hs_partial partial;
    bool no_partial; // it could not be written
    uint64_t total_bytes;
    uint64_t visits;
};

// Nothing of what no process can have.
static uint64_t resident_growth(const struct hs_live *live)
{
    const uint64_t before = live->resident_before, most = live->resident_most;
    return before && most > before && most < UINT64_C(1) << 48 ? (most - before) * 1024 : 0;
}

static void fill_summary(struct import *import)
{
    const struct hs_trace_info *info = hs_trace__info(import->trace);
    const struct hs_file_header *header = &info->header;
    struct hs_summary *summary = &import->head.summary;
    hs_trace__write_id(import->trace, summary->trace_id);
    summary->byte_order = header->byte_order;
    summary->pointer_size = header->pointer_size;
    summary->clock_source = header->clock_source;
    summary->version_major = (uint8_t)header->version_major;
    summary->version_minor = (uint8_t)header->version_minor;
    summary->machine = header->machine;
    summary->pid = header->pid;
    summary->parent_pid = header->parent_pid;
    summary->start_monotonic_ns = header->start_monotonic_ns;
    summary->start_realtime_ns = header->start_realtime_ns;
    summary->state = header->live.state;
    summary->ends_with_events = header->live.state == HS_STATE_RECORDING && !header->live.end_time;
    summary->stop_reason = header->live.stop_reason;
    summary->stop_errno = header->live.stop_errno;
    summary->file_size = info->file_size;
    memcpy(summary->dropped, header->live.dropped, sizeof summary->dropped);
    memcpy(summary->truncated, header->live.truncated, sizeof summary->truncated);
    summary->guessed = header->live.guessed;
    summary->resident_growth = resident_growth(&header->live);
    summary->recovered_slots = info->recovered_slots;
}

static void sum_damage(struct import *import)
{
    const struct hs_trace_info *info = hs_trace__info(import->trace);
    struct hs_summary *summary = &import->head.summary;
    for (unsigned i = 0; i < HS_DAMAGE_COUNT; i++) {
        summary->damage[i] = info->damage[i] + import->tables.damage[i] + import->counts.damage[i];
        summary->damage_bytes[i] =
            info->damage_bytes[i] + import->tables.damage_bytes[i] + import->counts.damage_bytes[i];
        summary->damaged_chunks += summary->damage[i];
        summary->damaged_bytes += summary->damage_bytes[i];
    }
    summary->events = import->counts.events;
    summary->out_of_order = import->counts.out_of_order;
}

static int create_clock(struct import *import, uint64_t *end_ns)
{
    const struct hs_file_header *header = &hs_trace__info(import->trace)->header;
    const char *rate = hs_import_tables__info(&import->tables, "ticks-per-second");
    struct hs_clock_map *clock = &import->builder.clock;
    int failed = hs_clock_map__create(clock, header, rate, import->tables.clock.data, import->tables.clock.count);
    if (failed)
        return failed;
    size_t count;
    const struct hs_trace_chunk *chunks = hs_trace__chunks(import->trace, &count);
    uint64_t last = header->live.end_time;
    for (size_t i = 0; i < count; i++) {
        if (chunks[i].kind != HS_CHUNK_EVENTS && chunks[i].kind != HS_CHUNK_SUMS)
            continue;
        import->total_bytes += chunks[i].stored_length;
        last = chunks[i].last_time > last ? chunks[i].last_time : last;
    }
    *end_ns = hs_clock_map__ns(clock, last);
    import->head.summary.end_time = hs_clock_map__ns(clock, header->live.end_time);
    if (header->forked_at)
        import->head.summary.forked_at_ns = hs_clock_map__ns(clock, header->forked_at);
    hs_import_tables__convert(&import->tables, clock);
    return 0;
}

static int report_progress(const struct import *import)
{
    const struct hs_import_options *options = import->options;
    if (options && options->cancel && __atomic_load_n(options->cancel, __ATOMIC_RELAXED))
        return -ECANCELED;
    if (options && options->progress)
        options->progress(options->context, import->counts.bytes_done, import->total_bytes);
    return 0;
}

static int visit(void *context, struct hs_step *steps, size_t count)
{
    struct import *import = context;
    if (!(++import->visits & 1023) && report_progress(import))
        return -ECANCELED;
    return hs_builder__visit(&import->builder, steps, count);
}

// ---- a trace that grows --------------------------------------------------------------------------------------------

// The time up to which a growing trace is complete and final: later records are later than what is sealed, and times
// after the last clock point are estimates. The tick after it is in a later nanosecond. HS_NEVER: the trace is not
// being written any more.
static uint64_t settled_time(struct import *import)
{
    const struct hs_file_header *header = &hs_trace__info(import->trace)->header;
    struct hs_clock_map *clock = &import->builder.clock;
    size_t count;
    const struct hs_trace_chunk *chunks = hs_trace__chunks(import->trace, &count);
    uint64_t time = 0;
    for (size_t i = 0; i < count; i++)
        if (chunks[i].kind == HS_CHUNK_EVENTS && !(chunks[i].flags & HS_CHUNK_LIVE) && chunks[i].last_time > time)
            time = chunks[i].last_time;
    const uint64_t last_point = clock->segment[clock->count - 1].start;
    if (header->clock_source != HS_CLOCK_MONOTONIC && time > last_point)
        time = last_point;
    while (time && time < UINT64_MAX && hs_clock_map__ns(clock, time) == hs_clock_map__ns(clock, time + 1))
        time--;
    return time && header->live.state == HS_STATE_RECORDING ? time : HS_NEVER;
}

static bool is_clean(const struct import *import)
{
    uint64_t damage = import->counts.out_of_order + import->builder.unknown_stacks;
    for (unsigned i = 0; i < HS_DAMAGE_COUNT; i++)
        damage += import->counts.damage[i];
    return !damage;
}

static void keep_partial(struct import *import, struct hs_resume_state *state)
{
    state->partial = &import->partial;
    if (import->no_partial || !hs_partial__keep(&import->partial, &import->builder, state))
        return;
    hs_partial__end(&import->partial, import->directory_fd, false);
    import->no_partial = true;
}

// A state that cannot be kept only costs time later.
static int keep_state(void *context, uint64_t time, struct hs_array *consumed)
{
    struct import *import = context;
    struct hs_resume_state state = {
        .trace = import->trace, .time = time, .consumed = consumed, .nodes = import->tables.nodes.data};
    int failed = hs_builder__expire(&import->builder, time);
    if (failed)
        return failed;
    if (hs_ties__waits(&import->builder.ties) || !is_clean(import) ||
        !hs_consumed__sort(consumed->data, consumed->count))
        return 0;
    if (time != import->settled)
        keep_partial(import, &state);
    else if (hs_resume__write(&import->builder, &state, import->directory_fd))
        unlinkat(import->directory_fd, "resume", 0);
    return 0;
}

static int replay_rest(struct import *import, struct hs_replay_cut *cut)
{
    uint64_t events = 0;
    cut->before_time = hs_resume__time(import->resume);
    cut->before = hs_resume__consumed(import->resume, &cut->before_count);
    int failed = hs_resume__restore(import->resume, &import->builder, import->tables.nodes.data);
    for (size_t i = 0; i < cut->before_count && !failed; i++) {
        if (cut->before[i].steps != HS_ALL_STEPS)
            continue;
        events += cut->before[i].count;
        import->total_bytes -= cut->before[i].stored_length < import->total_bytes ? cut->before[i].stored_length : 0;
    }
    if (!failed)
        failed = hs_trace__replay_parts(import->trace, visit, import, &import->counts, cut);
    import->counts.events += events;
    return failed;
}

static uint64_t partial_every(const struct import *import)
{
    const struct hs_import_options *options = import->options;
    bool settles =
        import->settled != HS_NEVER || hs_trace__info(import->trace)->header.live.state != HS_STATE_RECORDING;
    if (!settles || (options && options->temporary))
        return 0;
    return options && options->partial_every ? options->partial_every : PARTIAL_EVERY;
}

static int replay(struct import *import)
{
    import->settled = settled_time(import);
    struct hs_replay_cut cut = {.time = import->settled, .every = partial_every(import), .reached = keep_state};
    int failed = import->resume ? replay_rest(import, &cut)
                                : hs_trace__replay_parts(import->trace, visit, import, &import->counts, &cut);
    return failed ? failed : hs_builder__settle(&import->builder);
}

// ---- a trace that was cut off --------------------------------------------------------------------------------------

static uint64_t sealed_events(const struct hs_trace *trace)
{
    size_t count;
    uint64_t events = 0;
    const struct hs_trace_chunk *chunks = hs_trace__chunks(trace, &count);
    for (size_t i = 0; i < count; i++)
        if ((chunks[i].kind == HS_CHUNK_EVENTS || chunks[i].kind == HS_CHUNK_SUMS) &&
            !(chunks[i].flags & HS_CHUNK_LIVE))
            events += chunks[i].count;
    return events;
}

// The process counted what it had written. A file that ends between two chunks looks like a whole one otherwise.
static int say_what_is_missing(struct import *import)
{
    uint64_t written = hs_trace__info(import->trace)->header.live.events, here = sealed_events(import->trace);
    char text[160];
    if (here >= written || hs_import_tables__info(&import->tables, "incomplete"))
        return 0;
    snprintf(text, sizeof text, "the file is truncated or damaged: %" PRIu64 " of %" PRIu64 " events are in it", here,
             written);
    return hs_import_tables__add_info(&import->tables, "incomplete", text);
}

// ---- the whole -----------------------------------------------------------------------------------------------------

static int write_head(struct import *import, int directory_fd)
{
    struct hs_store_head *head = &import->head;
    head->magic = HS_STORE_MAGIC;
    head->version = HS_STORE_VERSION;
    head->head_size = sizeof *head;
    hs_store_key__of(import->trace, &head->key);
    const struct hs_array array = {head, 1, 1};
    return hs_write_array(directory_fd, "head", &array, sizeof *head);
}

// One more than the largest number of a stream.
static uint32_t count_streams(const struct hs_trace *trace)
{
    size_t count;
    uint32_t largest = 0;
    const struct hs_trace_chunk *chunks = hs_trace__chunks(trace, &count);
    for (size_t i = 0; i < count; i++)
        if (chunks[i].kind != HS_CHUNK_SUMS && chunks[i].stream > largest)
            largest = chunks[i].stream;
    return largest < UINT32_MAX ? largest + 1 : largest;
}

static int run(struct import *import, int directory_fd)
{
    uint64_t end_ns = 0;
    int failed = hs_import_tables__create(&import->tables, directory_fd);
    if (!failed)
        failed = hs_import_tables__load(&import->tables, import->trace);
    fill_summary(import);
    if (!failed)
        failed = say_what_is_missing(import);
    if (!failed)
        failed = create_clock(import, &end_ns);
    if (!failed)
        failed = hs_builder__create(&import->builder, directory_fd, &import->head.summary, end_ns);
    const char *page = hs_import_tables__info(&import->tables, "page-size");
    uint64_t page_size = page ? strtoull(page, NULL, 10) : 0;
    import->builder.page_size = page_size && !(page_size & (page_size - 1)) ? page_size : 4096;
    import->builder.live_most = hs_memory__live_blocks(hs_trace__info(import->trace)->file_size);
    import->builder.same = &import->tables.same;
    import->builder.map_event = hs_builder__map_event;
    import->head.summary.merged_nodes = import->tables.same.merged;
    if (!failed)
        failed = hs_builder__expect(&import->builder, import->tables.node_count, count_streams(import->trace));
    if (!failed)
        failed = hs_aggregate_trace__is_one(import->trace, &import->tables)
                     ? hs_aggregate_trace__import(import->trace, &import->builder, &import->tables,
                                                  import->options ? import->options->ticks_until : 0, &import->counts)
                     : replay(import);
    sum_damage(import);
    import->head.summary.capped_numbers += import->tables.culled_allowance.capped;
    if (!failed)
        failed = hs_snapshots__unwind(import->trace, import->options ? import->options->symbols : NULL, &import->tables,
                                      &import->builder.samples, &import->head);
    if (!failed)
        failed = hs_builder__finish_rows(&import->builder, &import->head);
    if (!failed)
        failed = hs_import_tables__write(&import->tables, directory_fd, &import->builder.side);
    return failed ? failed : write_head(import, directory_fd);
}

int hs_import__run(const struct hs_trace *trace, const struct hs_import_options *options,
                   const struct hs_resume *resume, int directory_fd)
{
    struct import *import = calloc(1, sizeof *import);
    if (!import)
        return -ENOMEM;
    import->trace = trace;
    import->options = options;
    import->resume = resume;
    import->directory_fd = directory_fd;
    import->tables.nodes.fd = -1;
#define NO_FILE(name) import->builder.name.fd = -1;
    HS_STORE_COLUMNS(NO_FILE)
#undef NO_FILE
    import->builder.row_ends.file.fd = -1;
    int failed = run(import, directory_fd);
    hs_partial__end(&import->partial, directory_fd, failed != 0);
    hs_import_tables__free(&import->tables);
    hs_builder__free(&import->builder);
    free(import);
    return failed;
}
