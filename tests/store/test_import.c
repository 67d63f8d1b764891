// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The importer against a model that keeps every block in a list and looks through all of it each time.
#include "host/base/memory.h"
#include "host/import/import.h"
#include "host/import/most_live.h"
#include "host/import/row_ends.h"
#include "host/query/query.h"
#include "tests/format/check_random.h"
#include "tests/store/trace_writer.h"
#include "tests/suite.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static char folder[] = "/tmp/heapsonde-import-XXXXXX";
static char path[256];

static void make_folder(void)
{
    strcpy(folder, "/tmp/heapsonde-import-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/trace.dat", folder);
}

static void remove_folder(void)
{
    char command[600];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

// ---- the model -----------------------------------------------------------------------------------------------------

struct model_row {
    uint64_t time, end, address, size, usable;
    uint32_t stack, stream, end_stream, next;
    uint8_t kind;
    bool temporary, at_peak, missed;
};

struct model {
    struct model_row *row;
    size_t rows;
    uint64_t left, capped; // of what large blocks may have
    uint64_t unknown, missed, bytes, peak, peak_time, frees;
};

static size_t model_find(const struct model *model, uint64_t address)
{
    for (size_t i = model->rows; i--;)
        if (model->row[i].end == HS_NEVER && model->row[i].address == address)
            return i;
    return SIZE_MAX;
}

static size_t model_end(struct model *model, uint64_t address, uint64_t time, uint32_t stream)
{
    size_t row = model_find(model, address);
    if (row == SIZE_MAX) {
        model->unknown++;
        return row;
    }
    model->row[row].end = time;
    model->row[row].end_stream = stream;
    model->bytes -= model->row[row].size;
    return row;
}

static uint64_t model_take(struct model *model, uint64_t wanted)
{
    uint64_t most = model->left / 64;
    model->capped += wanted > most;
    model->left -= wanted > most ? most : wanted;
    return wanted > most ? most : wanted;
}

// What is below 64 MiB is what it is; beyond that a block gets a 64th of what is left at most, and so does its slack.
static void model_allow(struct model *model, const struct hs_event *event, struct model_row *row)
{
    const uint64_t small = (1 << 26) - 1;
    uint64_t slack = event->usable > event->size ? event->usable - event->size : 0;
    row->size = event->size;
    row->usable = event->size + slack;
    if (event->size <= small && event->usable <= small)
        return;
    if (event->size > small)
        row->size = small + model_take(model, event->size - small);
    row->usable = row->size + model_take(model, slack < UINT32_MAX ? slack : UINT32_MAX);
}

static void model_start(struct model *model, const struct hs_event *event, uint32_t stream)
{
    size_t old = model_find(model, event->address);
    if (old != SIZE_MAX) {
        model->missed++;
        model_end(model, event->address, event->time, model->row[old].stream);
        model->row[old].missed = true;
    }
    struct model_row *row = &model->row[model->rows++];
    *row = (struct model_row){.time = event->time,
                              .end = HS_NEVER,
                              .address = event->address,
                              .stack = event->stack,
                              .stream = stream,
                              .end_stream = stream,
                              .kind = event->kind - HS_EVENT_MALLOC};
    model_allow(model, event, row);
    model->bytes += row->size;
    if (model->bytes <= model->peak)
        return;
    model->peak = model->bytes;
    model->peak_time = event->time;
    for (size_t i = 0; i < model->rows; i++)
        model->row[i].at_peak = model->row[i].end == HS_NEVER;
}

// Events come in the order of their end; a realloc's old block ends at its begin, before which nothing else happens.
static void model_run(struct model *model, const struct random_program *program)
{
    size_t last[64];
    memset(last, 0xff, sizeof last);
    *model = (struct model){.row = calloc(program->count + 1, sizeof *model->row), .left = (uint64_t)1 << 60};
    for (size_t i = 0; i < program->count; i++) {
        const struct hs_event *event = &program->event[i];
        uint32_t stream = program->stream[i];
        if (event->kind == HS_EVENT_FREE) {
            size_t row = model_end(model, event->address, event->time, stream);
            model->frees++;
            if (row != SIZE_MAX && row == last[stream])
                model->row[row].temporary = true;
            last[stream] = SIZE_MAX;
            continue;
        }
        size_t old = SIZE_MAX;
        if (event->kind == HS_EVENT_REALLOC)
            old = model_end(model, event->old_address, event->begin_time, stream);
        model_start(model, event, stream);
        last[stream] = model->rows - 1;
        if (old != SIZE_MAX)
            model->row[old].next = (uint32_t)model->rows - 1;
    }
}

static void expect_rows(const struct hs_store *store, const struct model *model)
{
    const struct hs_columns *c = hs_store__columns(store);
    ck_assert_uint_eq(c->rows, model->rows);
    for (size_t i = 0; i < model->rows; i++) {
        const struct model_row *row = &model->row[i];
        bool same = hs_row__time(c, i) == row->time && hs_row__free_time(c, i) == row->end &&
                    hs_row__address(c, i) == row->address && hs_row__size(c, i) == row->size &&
                    hs_row__size(c, i) + hs_row__slack(c, i) == row->usable && hs_row__stack(c, i) == row->stack &&
                    hs_row__stream(c, i) == row->stream && hs_row__free_stream(c, i) == row->end_stream &&
                    hs_row__kind(c, i) == row->kind && hs_row__next(c, i) == row->next &&
                    !(hs_row__flags(c, i) & HS_ROW_TEMPORARY) == !row->temporary &&
                    !(hs_row__flags(c, i) & HS_ROW_MISSED_FREE) == !row->missed &&
                    !(hs_row__flags(c, i) & HS_ROW_AT_PEAK) == !row->at_peak;
        ck_assert_msg(same, "row %zu of %zu", i, model->rows);
    }
}

static void expect_summary(const struct hs_store *store, const struct model *model,
                           const struct random_program *program)
{
    const struct hs_summary *summary = hs_store__summary(store);
    ck_assert_uint_eq(summary->events, program->count);
    ck_assert_uint_eq(summary->allocations, model->rows);
    ck_assert_uint_eq(summary->frees, model->frees);
    ck_assert_uint_eq(summary->unknown_frees, model->unknown);
    ck_assert_uint_eq(summary->missed_frees, model->missed);
    ck_assert_uint_eq(summary->capped_numbers, model->capped);
    ck_assert_uint_eq(summary->peak.bytes, model->peak);
    ck_assert_uint_eq(summary->peak_time, model->peak_time);
    ck_assert_uint_eq(summary->live.bytes, model->bytes);
    ck_assert_uint_eq(summary->damaged_chunks, 0);
    ck_assert_uint_eq(summary->dropped[0], 7);
    ck_assert_uint_eq(summary->end_time, program->end_time);
}

static void expect_tables(const struct hs_store *store, const struct random_program *program)
{
    size_t count;
    uint64_t pcs[64];
    hs_store__nodes(store, &count);
    ck_assert_uint_eq(count, program->stacks + 1);
    ck_assert_uint_eq(hs_store__frames(store, 10, pcs, 64, NULL), 3);
    ck_assert_uint_eq(pcs[0], 0x400000 + 10 * 32);
    ck_assert_uint_eq(pcs[2], 0x400000 + 1 * 32);
    ck_assert_str_eq(hs_store__info(store, "executable"), "/usr/bin/example");
    ck_assert_str_eq(hs_store__module_at(store, 0x400123, 5)->path, "/usr/bin/example");
    ck_assert_ptr_null(hs_store__module_at(store, 0x500000, 5));
    ck_assert_uint_eq(hs_store__thread(store, 0)->tid, 4711);
    ck_assert_str_eq(hs_store__thread(store, 0)->name, "main");
    ck_assert_uint_eq(hs_store__realtime_ns(store, 5), 1700000000000000005);
    hs_store__side_events(store, &count);
    ck_assert_uint_eq(count, 2);
    ck_assert_uint_eq(hs_store__culled(store, &count)->count, 10);
}

// ---- against the queries -------------------------------------------------------------------------------------------

static bool model_matches(const struct model_row *row, const struct hs_filter *filter, uint64_t end_time)
{
    uint64_t end = row->end == HS_NEVER ? end_time : row->end;
    return row->time >= filter->time_min && row->time <= filter->time_max && row->size >= filter->size_min &&
           row->size <= filter->size_max && end - row->time >= filter->lifetime_min &&
           end - row->time <= filter->lifetime_max && (!filter->never_freed_only || row->end == HS_NEVER) &&
           (!filter->alive_count || (row->time <= filter->alive_at[0] && row->end > filter->alive_at[0]));
}

static bool any_row(void *context, const struct hs_store *store, uint64_t row)
{
    (void)context;
    (void)store;
    (void)row;
    return true;
}

static const struct hs_total *total_of(const struct hs_totals *totals, uint32_t stack)
{
    for (size_t i = 0; i < totals->count; i++)
        if (totals->total[i].stack == stack)
            return &totals->total[i];
    return NULL;
}

// The totals that the store keeps are those of its rows and what was culled.
static void expect_kept_totals(const struct hs_store *store)
{
    struct hs_filter filter;
    struct hs_totals kept, added;
    hs_filter__init(&filter);
    filter.accept = any_row;
    ck_assert_ptr_nonnull(hs_store__totals(store));
    ck_assert_int_eq(hs_query__totals(store, NULL, NULL, &kept, NULL), 0);
    ck_assert_int_eq(hs_query__totals(store, &filter, NULL, &added, NULL), 0);
    ck_assert_uint_gt(added.count, 0);
    for (size_t i = 0; i < kept.count; i++) {
        struct hs_total total = kept.total[i];
        const struct hs_total *rows = total_of(&added, total.stack);
        ck_assert_uint_eq(total.allocated_count - total.culled_count, rows ? rows->allocated_count : 0);
        ck_assert_uint_eq(total.freed_bytes - total.culled_bytes, rows ? rows->freed_bytes : 0);
        if (total.culled_count)
            continue;
        ck_assert_mem_eq(&total, rows, sizeof total);
    }
    for (size_t i = 0; i < added.count; i++)
        ck_assert_ptr_nonnull(total_of(&kept, added.total[i].stack));
    hs_totals__free(&kept);
    hs_totals__free(&added);
}

static void expect_queries(const struct hs_store *store, const struct model *model, struct random_state *random)
{
    uint64_t end_time = hs_store__summary(store)->end_time;
    for (unsigned round = 0; round < 20; round++) {
        struct hs_filter filter;
        hs_filter__init(&filter);
        if (random_below(random, 2))
            filter.time_min = random_below(random, end_time + 1), filter.time_max = filter.time_min + end_time / 3;
        if (random_below(random, 2))
            filter.size_max = random_below(random, 600);
        if (random_below(random, 3) == 0)
            filter.lifetime_min = random_below(random, end_time / 4 + 1);
        if (random_below(random, 3) == 0)
            filter.alive_at[0] = random_below(random, end_time + 1), filter.alive_count = 1;
        filter.never_freed_only = random_below(random, 4) == 0;
        uint64_t count = 0, bytes = 0, peak_bytes = 0, got;
        for (size_t i = 0; i < model->rows; i++)
            if (model_matches(&model->row[i], &filter, end_time)) {
                count++;
                bytes += model->row[i].size;
                peak_bytes += model->row[i].at_peak ? model->row[i].size : 0;
            }
        struct hs_totals totals;
        ck_assert_int_eq(hs_query__totals(store, &filter, NULL, &totals, NULL), 0);
        bool open = !filter.time_min && filter.time_max == UINT64_MAX && filter.size_max == UINT64_MAX &&
                    !filter.lifetime_min && !filter.alive_count && !filter.never_freed_only;
        ck_assert_uint_eq(totals.sum.culled_count, open ? 10 : 0);
        ck_assert_uint_eq(totals.sum.allocated_count - totals.sum.culled_count, count);
        ck_assert_uint_eq(totals.sum.allocated_bytes - totals.sum.culled_bytes, bytes);
        ck_assert_uint_eq(totals.sum.peak_bytes, peak_bytes);
        hs_totals__free(&totals);
        ck_assert_int_eq(hs_query__count(store, &filter, NULL, &got, NULL), 0);
        ck_assert_uint_eq(got, count);
        struct hs_rows rows;
        ck_assert_int_eq(hs_query__rows(store, &filter, HS_ROW_BY_SIZE, true, 1, 5, NULL, &rows, NULL), 0);
        ck_assert_uint_eq(rows.total, count);
        for (size_t i = 1; i < rows.count; i++)
            ck_assert_uint_ge(model->row[rows.row[i - 1]].size, model->row[rows.row[i]].size);
        hs_rows__free(&rows);
    }
    expect_kept_totals(store);
    struct hs_timeline coarse, exact;
    struct hs_filter all;
    hs_filter__init(&all);
    ck_assert_int_eq(hs_query__timeline(store, NULL, 0, end_time, 50, NULL, &coarse, NULL), 0);
    ck_assert_int_eq(hs_query__timeline(store, &all, 0, coarse.width * 50 - 1, 50, NULL, &exact, NULL), 0);
    ck_assert_uint_eq(exact.width, coarse.width);
    for (size_t i = 0; i < 50; i++) {
        ck_assert_uint_eq(exact.point[i].live_bytes_max, coarse.point[i].live_bytes_max);
        ck_assert_uint_eq(exact.point[i].live_bytes_end, coarse.point[i].live_bytes_end);
        ck_assert_uint_eq(exact.point[i].allocated_count, coarse.point[i].allocated_count);
        ck_assert_uint_eq(exact.point[i].freed_bytes, coarse.point[i].freed_bytes);
    }
    hs_timeline__free(&coarse);
    hs_timeline__free(&exact);
    struct hs_live_total peak;
    uint64_t time;
    ck_assert_int_eq(hs_query__peak(store, &all, NULL, &peak, &time, NULL), 0);
    ck_assert_uint_eq(peak.bytes, model->peak);
    ck_assert_uint_eq(time, model->peak_time);
}

static struct hs_store *open_trace(const struct hs_import_options *options)
{
    struct hs_store *store;
    struct hs_error error = {""};
    int failed = hs_import__open(path, options, &store, &error);
    ck_assert_msg(!failed, "%s", error.message);
    return store;
}

START_TEST(rows_are_the_models)
{
    const struct hs_row_ends_limits ends_limits_of_imports = hs_row_ends_limits;
    uint64_t seed = test_seed("rows_are_the_models");
    struct random_state random = {seed};
    for (unsigned round = 0; round < 10; round++) {
        struct random_program program;
        struct model model;
        uint8_t pointer = round % 2 ? 4 : 8;
        bool live = round & 4;
        // Some with rows that leave memory.
        hs_row_ends_limits =
            round % 3 == 1 ? (struct hs_row_ends_limits){.blocks = 1, .live_part = 1} : ends_limits_of_imports;
        random_program__make(&program, seed + round,
                             round % 3 == 1 ? 40000
                             : round        ? 12000
                                            : 0,
                             1 + round % 5, round % 3 == 0, pointer);
        random_program__write(&program, path, round & 2 ? HS_BYTE_ORDER_BIG : HS_BYTE_ORDER_LITTLE, pointer, live,
                              round % 2);
        model_run(&model, &program);
        const struct hs_import_options options = {.temporary = true};
        struct hs_store *store = open_trace(&options);
        ck_assert_uint_eq(hs_store__summary(store)->recovered_slots, live ? program.threads + 1 : 0);
        expect_rows(store, &model);
        if (round) {
            expect_summary(store, &model, &program);
            expect_queries(store, &model, &random);
        }
        expect_tables(store, &program);
        hs_store__close(store);
        random_program__free(&program);
        free(model.row);
    }
}
END_TEST

// ---- mappings and pools --------------------------------------------------------------------------------------------

static const struct hs_event map_events[] = {
    {.kind = HS_EVENT_MMAP, .time = 10, .address = 0x10000, .size = 0x8000, .protection = 3, .map_flags = 34, .fd = -1},
    {.kind = HS_EVENT_MUNMAP, .time = 20, .address = 0x12000, .size = 0x2000},
    {.kind = HS_EVENT_MREMAP,
     .time = 30,
     .old_address = 0x10000,
     .old_size = 0x2000,
     .address = 0x40000,
     .size = 0x9000},
    {.kind = HS_EVENT_BRK, .time = 40, .old_address = 0x80000, .address = 0x90000},
    {.kind = HS_EVENT_BRK, .time = 50, .old_address = 0x90000, .address = 0x84000},
    {.kind = HS_EVENT_POOL_ALLOC, .time = 60, .pool = 77, .address = 0x1000, .size = 100, .usable = 100},
    {.kind = HS_EVENT_POOL_ALLOC, .time = 61, .pool = 78, .address = 0x1000, .size = 50, .usable = 50},
    {.kind = HS_EVENT_POOL_FREE, .time = 62, .pool = 77, .address = 0x1000},
    {.kind = HS_EVENT_MALLOPT, .time = 70, .parameter = -3, .argument = 4096, .result = 1},
    {.kind = HS_EVENT_MUNMAP, .time = 80, .address = 0x700000, .size = 0x1000},
    {.kind = HS_EVENT_MALLOC, .time = 90, .address = 0x7ffffff0001, .size = 1ull << 40, .usable = (1ull << 40) + 8},
};

START_TEST(mappings_split_and_move)
{
    struct trace_writer writer;
    size_t count;
    trace_writer__open(&writer, path, HS_BYTE_ORDER_LITTLE, 8);
    trace_writer__events(&writer, 0, map_events, sizeof map_events / sizeof *map_events, false);
    trace_writer__close(&writer, true, 100);
    const struct hs_import_options options = {.temporary = true};
    struct hs_store *store = open_trace(&options);
    const struct hs_columns *c = hs_store__columns(store);
    static const struct {
        uint64_t address, size, time, end;
        uint8_t kind, flags;
    } expected[] = {
        {0x10000, 0x8000, 10, 20, HS_KIND_MMAP, 0},
        {0x10000, 0x2000, 20, 30, HS_KIND_MMAP, HS_ROW_SPLIT | HS_ROW_REALLOCATED},
        {0x14000, 0x4000, 20, HS_NEVER, HS_KIND_MMAP, HS_ROW_SPLIT},
        {0x40000, 0x9000, 30, HS_NEVER, HS_KIND_MREMAP, 0},
        {0x80000, 0x10000, 40, 50, HS_KIND_BRK, 0},
        {0x80000, 0x4000, 50, HS_NEVER, HS_KIND_BRK, HS_ROW_SPLIT},
        {0x1000, 100, 60, 62, HS_KIND_POOL, 0},
        {0x1000, 50, 61, HS_NEVER, HS_KIND_POOL, 0},
        {0x7ffffff0001, 1ull << 40, 90, HS_NEVER, HS_KIND_MALLOC, HS_ROW_AT_PEAK},
    };
    ck_assert_uint_eq(c->rows, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < c->rows; i++) {
        ck_assert_uint_eq(hs_row__address(c, i), expected[i].address);
        ck_assert_uint_eq(hs_row__size(c, i), expected[i].size);
        ck_assert_uint_eq(hs_row__time(c, i), expected[i].time);
        ck_assert_uint_eq(hs_row__free_time(c, i), expected[i].end);
        ck_assert_uint_eq(hs_row__kind(c, i), expected[i].kind);
        ck_assert_uint_eq(hs_row__flags(c, i), expected[i].flags);
    }
    ck_assert_uint_eq(hs_row__next(c, 1), 3);
    ck_assert_uint_eq(hs_store__chains(store, &count)[hs_row__link(c, 3)->chain].length, 2);
    ck_assert_int_eq(hs_store__mappings(store, &count)[hs_row__detail(c, 3)].fd, -1);
    ck_assert_uint_eq(hs_store__pools(store, &count)[hs_row__detail(c, 7)], 78);
    ck_assert_uint_eq(hs_store__summary(store)->unknown_unmaps, 1);
    ck_assert_int_eq(hs_store__side_events(store, &count)[0].parameter, -3);
    ck_assert_uint_eq(hs_store__summary(store)->peak.bytes, 1ull << 40);
    hs_store__close(store);
}
END_TEST

// ---- numbers that packed columns must not lose ---------------------------------------------------------------------

// Many like each other, and among them sizes, lifetimes and addresses that are wider than all others; runs of equal
// times; the largest values that there are.
static size_t make_odd_events(struct random_state *random, struct hs_event *events, size_t count)
{
    uint64_t time = 1;
    size_t made = 0;
    for (size_t i = 0; made + 2 <= count; i++) {
        bool odd = random_below(random, 50) == 0;
        uint64_t address = 0x7f0000000000 + 64 * i;
        if (odd)
            address = random_next(random) >> 2 | (uint64_t)1 << 61;
        uint64_t size = odd ? random_next(random) >> (1 + random_below(random, 40)) : 1 + i % 3;
        time += random_below(random, 4) ? 0 : random_below(random, 300);
        if (random_below(random, 500) == 0)
            time += (uint64_t)1 << 36;
        events[made++] = (struct hs_event){.kind = HS_EVENT_MALLOC,
                                           .time = time,
                                           .address = address,
                                           .size = size,
                                           .usable = hs_usable_model(size, 8) + (odd ? 64 : 0),
                                           .stack = 1 + (uint32_t)(i % 7)};
        if (i % 3)
            events[made++] = (struct hs_event){.kind = HS_EVENT_FREE, .time = time, .address = address};
        else if (i > 100 && i % 4 == 0) // one that has lived long
            events[made++] = (struct hs_event){.kind = HS_EVENT_FREE, .time = time, .address = events[0].address};
    }
    return made;
}

static void write_odd_events(const struct random_program *program, uint64_t culled)
{
    static uint8_t bytes[HS_SLOT_RECORDS_SIZE];
    const struct hs_event *events = program->event;
    struct trace_writer writer;
    struct hs_meta_writer meta;
    trace_writer__open(&writer, path, HS_BYTE_ORDER_LITTLE, 8);
    hs_meta_begin(&meta, bytes, sizeof bytes);
    for (uint32_t id = 1; id <= 7; id++)
        hs_meta_node(&meta, id, 0, 0x400000 + id);
    for (uint64_t i = 0; i < culled; i++)
        hs_meta_culled(&meta, 1 + i % 7, UINT64_MAX - i, UINT64_MAX, UINT64_MAX, INT64_MAX);
    trace_writer__meta(&writer, bytes, (size_t)(meta.at - bytes), false);
    for (size_t at = 0; at < program->count; at += 1000)
        trace_writer__events(&writer, 0, events + at, program->count - at < 1000 ? program->count - at : 1000, false);
    trace_writer__close(&writer, true, events[program->count - 1].time);
}

START_TEST(odd_numbers_come_back)
{
    static struct hs_event events[30000];
    static uint32_t streams[30000];
    struct random_state random = {test_seed("odd_numbers_come_back")};
    struct model model;
    const struct hs_import_options options = {.temporary = true};
    struct random_program program = {.event = events, .stream = streams, .threads = 1};
    program.count = make_odd_events(&random, events, sizeof events / sizeof *events);
    write_odd_events(&program, 0);
    model_run(&model, &program);
    struct hs_store *store = open_trace(&options);
    expect_rows(store, &model);
    expect_kept_totals(store);
    hs_store__close(store);
    free(model.row);
}
END_TEST

// ---- numbers that are too large to add up --------------------------------------------------------------------------

static struct hs_event huge_event(uint64_t i, uint64_t time)
{
    static const uint64_t sizes[] = {UINT64_MAX, INT64_MAX, UINT64_MAX / 2 + 1, 100, 1 << 26, (1 << 26) - 1, 1 << 30};
    const uint64_t size = sizes[i % (sizeof sizes / sizeof *sizes)];
    return (struct hs_event){.kind = HS_EVENT_MALLOC,
                             .time = time,
                             .address = 0x10000 + 64 * i,
                             .size = size,
                             .usable = i % 5 ? hs_usable_model(size, 8) : UINT64_MAX,
                             .stack = 1 + (uint32_t)(i % 6)};
}

// Some stay, some live longer than all lifetimes can be added up.
static size_t make_huge_events(struct hs_event *events, size_t count)
{
    size_t made = 0;
    for (uint64_t i = 0; made + 2 <= count; i++) {
        events[made] = huge_event(i, made + 1);
        if (++made, i % 3)
            continue;
        events[made] = (struct hs_event){.kind = HS_EVENT_FREE, .time = made + 1, .address = 0x10000 + 64 * (i / 2)};
        made++;
    }
    for (uint64_t i = 0; i < 60; i++)
        events[made - 60 + i] = (struct hs_event){
            .kind = HS_EVENT_FREE, .time = ((uint64_t)1 << 59) + i, .address = 0x10000 + 64 * (count / 2 + i)};
    return made;
}

static void expect_no_wrapped_total(const struct hs_total *total)
{
    ck_assert_uint_le(total->allocated_bytes, total->allocated_usable);
    ck_assert_uint_le(total->allocated_usable, (uint64_t)1 << 62);
    ck_assert_uint_le(total->live_bytes, total->live_usable);
    ck_assert_uint_le(total->live_usable, total->allocated_usable);
    ck_assert_uint_le(total->peak_bytes, total->allocated_bytes);
    ck_assert_uint_eq(total->allocated_bytes - total->live_bytes, total->freed_bytes);
    ck_assert_uint_le(total->allocated_count, (uint64_t)1 << 62);
    ck_assert_uint_le(total->lifetime_sum, INT64_MAX);
    ck_assert_uint_ge(total->lifetime_sum, total->lifetime_max);
}

static void expect_sums_of_rows(const struct hs_store *store, const struct model *model)
{
    unsigned __int128 size = 0, usable = 0;
    struct hs_totals totals;
    struct hs_timeline timeline;
    for (size_t i = 0; i < model->rows; i++) {
        size += model->row[i].size;
        usable += model->row[i].usable;
    }
    const struct hs_summary *summary = hs_store__summary(store);
    ck_assert(size == summary->allocated_bytes && usable == summary->allocated_usable);
    ck_assert_int_eq(hs_query__totals(store, NULL, NULL, &totals, NULL), 0);
    ck_assert(totals.sum.allocated_bytes - totals.sum.culled_bytes == size);
    expect_no_wrapped_total(&totals.sum);
    for (size_t i = 0; i < totals.count; i++)
        expect_no_wrapped_total(&totals.total[i]);
    ck_assert_uint_eq(totals.sum.lifetime_sum, INT64_MAX);
    hs_totals__free(&totals);
    ck_assert_int_eq(hs_query__timeline(store, NULL, 0, summary->end_time, 50, NULL, &timeline, NULL), 0);
    ck_assert_uint_eq(timeline.point[0].live_bytes_max, model->peak);
    ck_assert_uint_eq(timeline.point[49].live_bytes_end, model->bytes);
    hs_timeline__free(&timeline);
}

START_TEST(sums_of_huge_numbers_do_not_wrap)
{
    static struct hs_event events[20000];
    static uint32_t streams[20000];
    struct model model;
    const struct hs_import_options options = {.temporary = true};
    struct random_program program = {.event = events, .stream = streams, .threads = 1};
    program.count = make_huge_events(events, sizeof events / sizeof *events);
    write_odd_events(&program, 100);
    model_run(&model, &program);
    struct hs_store *store = open_trace(&options);
    expect_rows(store, &model);
    expect_kept_totals(store);
    expect_sums_of_rows(store, &model);
    ck_assert_uint_gt(hs_store__summary(store)->capped_numbers, model.capped);
    hs_store__close(store);
    free(model.row);
}
END_TEST

// Blocks of the heap and of pools, not mappings.
START_TEST(most_live_blocks_are_counted)
{
    static const struct hs_event events[] = {
        {.kind = HS_EVENT_FREE, .time = 1, .address = 0x9000}, // nothing is live yet
        {.kind = HS_EVENT_MALLOC, .time = 2, .address = 0x1000, .size = 8, .usable = 8},
        {.kind = HS_EVENT_CALLOC, .time = 3, .address = 0x2000, .size = 8, .usable = 8},
        {.kind = HS_EVENT_REALLOC, .begin_time = 4, .time = 5, .old_address = 0x2000, .address = 0x3000, .size = 9},
        {.kind = HS_EVENT_REALLOC, .begin_time = 6, .time = 7, .address = 0x4000, .size = 9},
        {.kind = HS_EVENT_MMAP, .time = 8, .address = 0x10000, .size = 0x8000, .fd = -1},
        {.kind = HS_EVENT_POOL_ALLOC, .time = 9, .pool = 77, .address = 0x1000, .size = 100, .usable = 100},
        {.kind = HS_EVENT_POOL_FREE, .time = 10, .pool = 77, .address = 0x1000},
        {.kind = HS_EVENT_FREE, .time = 11, .address = 0x1000},
        {.kind = HS_EVENT_ALIGNED, .time = 12, .address = 0x5000, .size = 8, .usable = 8},
    };
    struct trace_writer writer;
    struct hs_trace *trace;
    static const int cancelled = 1;
    trace_writer__open(&writer, path, HS_BYTE_ORDER_LITTLE, 8);
    trace_writer__events(&writer, 0, events, sizeof events / sizeof *events, false);
    trace_writer__close(&writer, true, 100);
    ck_assert_int_eq(hs_trace__open(path, &trace, NULL), 0);
    ck_assert_uint_eq(hs_trace__most_live(trace, NULL), 4);
    ck_assert_uint_eq(hs_trace__most_live(trace, &cancelled), 0);
    hs_trace__close(trace);
}
END_TEST

// Deep recursion packs to next to nothing.
START_TEST(nodes_are_as_many_as_files_have)
{
    enum { LENGTH = 32 << 10, LIMIT = 4 << 20, NODES = LIMIT + 20000 };
    static uint8_t bytes[LENGTH];
    struct hs_meta_writer meta;
    struct trace_writer writer;
    const struct hs_import_options options = {.temporary = true};
    trace_writer__open(&writer, path, HS_BYTE_ORDER_LITTLE, 8);
    writer.pack_meta = true;
    for (uint32_t id = 1; id < NODES;) {
        hs_meta_begin(&meta, bytes, LENGTH);
        const uint64_t pc = 0x400000 + 16 * (uint64_t)id;
        hs_meta_node(&meta, id++, 0, pc);
        while ((size_t)(meta.at - bytes) < LENGTH - 32) {
            hs_meta_node(&meta, id, id - 1, pc);
            id++;
        }
        trace_writer__meta(&writer, bytes, (size_t)(meta.at - bytes), false);
    }
    trace_writer__close(&writer, true, 100);
    struct hs_store *store;
    struct hs_error error = {""};
    ck_assert_int_eq(hs_import__open(path, &options, &store, &error), -E2BIG);
    const char *advice = strstr(error.message, "more nodes of stacks than files of its size have; --memory ");
    ck_assert_msg(advice, "%s", error.message);
    struct rlimit before;
    ck_assert_int_eq(getrlimit(RLIMIT_DATA, &before), 0);
    hs_memory__limit(strtoull(strstr(advice, "--memory ") + 9, NULL, 10) << 20);
    store = open_trace(&options);
    hs_memory__limit(0);
    ck_assert_int_eq(setrlimit(RLIMIT_DATA, &before), 0);
    ck_assert_uint_lt(hs_store__summary(store)->file_size, LIMIT / 8);
    size_t count;
    hs_store__nodes(store, &count);
    ck_assert_uint_ge(count, NODES);
    ck_assert_uint_eq(hs_store__summary(store)->damaged_chunks, 0);
    hs_store__close(store);
}
END_TEST

// Two libraries were at one place, one after the other.
START_TEST(nodes_know_their_time)
{
    uint8_t bytes[1024];
    struct hs_meta_writer meta;
    struct trace_writer writer;
    const struct hs_import_options options = {.temporary = true};
    trace_writer__open(&writer, path, HS_BYTE_ORDER_LITTLE, 8);
    hs_meta_begin(&meta, bytes, sizeof bytes);
    hs_meta_node(&meta, 1, 0, 0x900000);
    hs_meta_module(&meta, 10, 0x400000, 0x500000, 0x400000, NULL, 0, "first", 5);
    hs_meta_node(&meta, 2, 1, 0x400010);
    hs_meta_node(&meta, 3, 2, 0x400020);
    hs_meta_unload(&meta, 20, 0x400000);
    hs_meta_node(&meta, 4, 1, 0x900010);
    hs_meta_module(&meta, 30, 0x400000, 0x500000, 0x400000, NULL, 0, "second", 6);
    hs_meta_node(&meta, 5, 4, 0x400010);
    trace_writer__meta(&writer, bytes, (size_t)(meta.at - bytes), false);
    trace_writer__close(&writer, true, 100);
    struct hs_store *store = open_trace(&options);
    static const uint64_t expected[] = {0, 0, 10, 10, 20, 30};
    for (uint32_t node = 0; node < sizeof expected / sizeof *expected; node++)
        ck_assert_uint_eq(hs_store__node_time(store, node), expected[node]);
    ck_assert_str_eq(hs_store__module_at(store, 0x400010, hs_store__node_time(store, 2))->path, "first");
    ck_assert_str_eq(hs_store__module_at(store, 0x400010, hs_store__node_time(store, 5))->path, "second");
    // What was there is the answer for as long as nothing else would be.
    uint64_t from, until;
    ck_assert_str_eq(hs_store__module_during(store, 0x400010, 15, &from, &until)->path, "first");
    ck_assert(from == 10 && until == 20);
    ck_assert_str_eq(hs_store__module_during(store, 0x400010, 30, &from, &until)->path, "second");
    ck_assert(from == 30 && until == HS_NEVER);
    ck_assert_ptr_nonnull(hs_store__module_during(store, 0x400010, 25, &from, &until));
    ck_assert(from == 20 && until == 30);
    ck_assert_ptr_null(hs_store__module_during(store, 0x900000, 25, &from, &until));
    ck_assert(from == 0 && until == HS_NEVER);
    uint32_t *depths = hs_store__depths(store);
    for (uint32_t node = 0; node < 6; node++)
        ck_assert_uint_eq(depths[node], hs_store__frames(store, node, NULL, 0, NULL));
    free(depths);
    hs_store__close(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("import");
    TCase *tests = tcase_create("import");
    tcase_add_checked_fixture(tests, make_folder, remove_folder);
    tcase_add_test(tests, rows_are_the_models);
    tcase_add_test(tests, mappings_split_and_move);
    tcase_add_test(tests, odd_numbers_come_back);
    tcase_add_test(tests, sums_of_huge_numbers_do_not_wrap);
    tcase_add_test(tests, most_live_blocks_are_counted);
    tcase_add_test(tests, nodes_are_as_many_as_files_have);
    tcase_add_test(tests, nodes_know_their_time);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
