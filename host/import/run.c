// SPDX-License-Identifier: MIT OR Apache-2.0
//
// One import: from an opened trace to the files of a store in an empty directory.
#include "host/import/run.h"

#include "host/import/builder.h"
#include "host/import/finish.h"
#include "host/import/snapshots.h"
#include "host/import/step.h"
#include "host/import/sums.h"
#include "host/import/tables.h"
#include "host/import/trace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct import {
    const struct hs_trace *trace;
    const struct hs_import_options *options;
    struct tables tables;
    struct builder builder;
    struct hs_store_head head;
    struct hs_replay_counts counts;
    uint64_t total_bytes;
    uint64_t visits;
};

void hs_store_key__of(const struct hs_trace *trace, struct hs_store_key *key)
{
    const struct hs_trace_info *info = hs_trace__info(trace);
    memset(key, 0, sizeof *key);
    key->trace_id[0] = info->header.trace_id[0];
    key->trace_id[1] = info->header.trace_id[1];
    key->size = info->file_size;
    key->modified_ns = info->modified_ns;
}

static void fill_summary(struct import *import)
{
    const struct hs_trace_info *info = hs_trace__info(import->trace);
    const struct hs_file_header *header = &info->header;
    struct hs_summary *summary = &import->head.summary;
    snprintf(summary->trace_id, sizeof summary->trace_id, "%016llx%016llx", (unsigned long long)header->trace_id[0],
             (unsigned long long)header->trace_id[1]);
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
    summary->stop_reason = header->live.stop_reason;
    summary->stop_errno = header->live.stop_errno;
    summary->file_size = info->file_size;
    memcpy(summary->dropped, header->live.dropped, sizeof summary->dropped);
    memcpy(summary->truncated, header->live.truncated, sizeof summary->truncated);
    summary->guessed = header->live.guessed;
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
    const char *rate = tables__info(&import->tables, "ticks-per-second");
    const struct hs_clock_source source = {.clock = header->clock_source,
                                           .tick_shift = header->tick_shift,
                                           .ticks_per_second = rate ? strtod(rate, NULL) : 0,
                                           .start_monotonic_ns = header->start_monotonic_ns};
    struct hs_clock_map *clock = &import->builder.clock;
    int failed = hs_clock_map__create(clock, &source, import->tables.clock.data, import->tables.clock.count);
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
    tables__convert(&import->tables, clock);
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
    return builder__visit(&import->builder, steps, count);
}

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

static int run(struct import *import, int directory_fd)
{
    uint64_t end_ns = 0;
    int failed = tables__create(&import->tables, directory_fd);
    if (!failed)
        failed = tables__load(&import->tables, import->trace);
    fill_summary(import);
    if (!failed)
        failed = create_clock(import, &end_ns);
    if (!failed)
        failed = builder__create(&import->builder, directory_fd, &import->head.summary, end_ns);
    const char *page = tables__info(&import->tables, "page-size");
    uint64_t page_size = page ? strtoull(page, NULL, 10) : 0;
    import->builder.page_size = page_size && !(page_size & (page_size - 1)) ? page_size : 4096;
    import->builder.stack_limit = import->tables.node_count;
    if (!failed)
        failed = stack_peaks__create(&import->builder.stack_peaks, import->tables.node_count);
    if (!failed)
        failed = sums__are_in(import->trace, &import->tables)
                     ? sums__import(import->trace, &import->builder, &import->tables, &import->counts)
                     : hs_trace__replay_steps(import->trace, visit, import, &import->counts);
    sum_damage(import);
    if (!failed)
        failed = snapshots__unwind(import->trace, import->options ? import->options->symbols : NULL, &import->tables,
                                   &import->builder.samples, &import->head);
    if (!failed)
        failed = builder__finish_rows(&import->builder, &import->head);
    if (!failed)
        failed = tables__write(&import->tables, directory_fd, &import->builder.side);
    return failed ? failed : write_head(import, directory_fd);
}

int hs_import__run(const struct hs_trace *trace, const struct hs_import_options *options, int directory_fd)
{
    struct import *import = calloc(1, sizeof *import);
    if (!import)
        return -ENOMEM;
    import->trace = trace;
    import->options = options;
    import->tables.nodes.fd = -1;
#define NO_FILE(name) import->builder.name.fd = -1;
    HS_STORE_COLUMNS(NO_FILE)
#undef NO_FILE
    int failed = run(import, directory_fd);
    tables__free(&import->tables);
    builder__free(&import->builder);
    free(import);
    return failed;
}
