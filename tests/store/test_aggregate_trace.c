// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Traces of sums against a model: random ticks, of which the sums, the peak and the timeline are kept beside.
#include "format/aggregate.h"
#include "format/meta.h"
#include "host/import/import.h"
#include "host/query/query.h"
#include "tests/format/check_random.h"
#include "tests/store/trace_writer.h"
#include "tests/suite.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STACKS = 6, TICKS = 40, TICK_NS = 1000000 };

static char path[] = "/tmp/heapsonde-sums-XXXXXX";

static void make_path(void)
{
    strcpy(path, "/tmp/heapsonde-sums-XXXXXX");
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(close(fd), 0);
}

static void remove_path(void)
{
    ck_assert_int_eq(unlink(path), 0);
}

struct model {
    struct hs_aggregate_record now[STACKS], at_peak[STACKS];
    uint64_t live[TICKS], peak, peak_tick;
};

static uint64_t live_bytes(const struct hs_aggregate_record *sums)
{
    return sums->change[HS_SUM_ALLOCATED_BYTES] - sums->change[HS_SUM_FREED_BYTES];
}

static void write_meta(struct trace_writer *writer)
{
    uint8_t bytes[4096] = {0};
    struct hs_meta_writer meta;
    hs_meta_begin(&meta, bytes, sizeof bytes);
    ck_assert(hs_meta_info(&meta, "executable", 10, "/usr/bin/example", 16));
    ck_assert(hs_meta_info(&meta, "mode", 4, "aggregate", 9));
    ck_assert(hs_meta_info(&meta, "aggregate-interval", 18, "10", 2));
    for (uint32_t id = 1; id < STACKS; id++)
        ck_assert(hs_meta_node(&meta, id, id - 1, 0x400000 + 16 * id));
    trace_writer__meta(writer, bytes, (size_t)(meta.at - bytes), false);
}

static void write_part(struct trace_writer *writer, const struct hs_aggregate_writer *sums, uint8_t *bytes,
                       uint64_t tick, uint32_t count)
{
    struct hs_chunk_header chunk = {
        .kind = HS_CHUNK_SUMS, .count = count, .first_time = (tick - 1) * TICK_NS, .last_time = tick * TICK_NS};
    chunk.stored_length = chunk.plain_length = (uint32_t)(sums->at - bytes);
    trace_writer__chunk(writer, &chunk, bytes);
}

// Something begins and something ends; now and then all that a stack has moves into stack 0.
static void change(struct random_state *random, struct model *model, uint32_t stack, struct hs_aggregate_record *record)
{
    struct hs_aggregate_record *now = &model->now[stack];
    uint64_t blocks = random_below(random, 1000), before[HS_SUM_COUNT];
    memcpy(before, now->change, sizeof before);
    now->change[HS_SUM_ALLOCATED_COUNT] += blocks;
    now->change[HS_SUM_ALLOCATED_BYTES] += blocks * 100;
    now->change[HS_SUM_ALLOCATED_SLACK] += blocks * 4;
    uint64_t ends = random_below(random, now->change[HS_SUM_ALLOCATED_COUNT] - now->change[HS_SUM_FREED_COUNT] + 1);
    now->change[HS_SUM_FREED_COUNT] += ends;
    now->change[HS_SUM_FREED_BYTES] += ends * 100;
    now->change[HS_SUM_FREED_SLACK] += ends * 4;
    now->change[HS_SUM_TEMPORARY_COUNT] += ends / 2;
    now->change[HS_SUM_TEMPORARY_BYTES] += ends / 2 * 100;
    bool moves = stack && random_below(random, 8) == 0;
    for (unsigned i = 0; moves && i < HS_SUM_COUNT; i++) {
        model->now[0].change[i] += now->change[i];
        now->change[i] = 0;
    }
    record->stack = stack;
    for (unsigned i = 0; i < HS_SUM_COUNT; i++)
        record->change[i] = now->change[i] - before[i];
}

static void write_tick(struct trace_writer *writer, struct random_state *random, struct model *model, uint64_t tick)
{
    static uint8_t bytes[1 << 16];
    struct hs_aggregate_record records[STACKS], first = model->now[0];
    const struct hs_aggregate_head head = {
        .domain = HS_AGGREGATE_HEAP, .unknown_frees = tick, .reallocations = 2 * tick};
    for (uint32_t stack = STACKS; stack-- > 0;)
        change(random, model, stack, &records[stack]);
    // What moved into stack 0 did so after its own record was made.
    for (unsigned i = 0; i < HS_SUM_COUNT; i++)
        records[0].change[i] = model->now[0].change[i] - first.change[i];
    struct hs_aggregate_writer sums;
    hs_aggregate_begin(&sums, bytes, sizeof bytes, &head);
    for (uint32_t stack = 0; stack < STACKS; stack++) {
        // A tick may have several chunks.
        if (stack == STACKS / 2 && tick % 3 == 0) {
            write_part(writer, &sums, bytes, tick, 10);
            hs_aggregate_begin(&sums, bytes, sizeof bytes, &head);
        }
        ck_assert(hs_aggregate_put(&sums, &records[stack]));
    }
    write_part(writer, &sums, bytes, tick, 10);
    uint64_t live = 0;
    for (uint32_t stack = 0; stack < STACKS; stack++)
        live += live_bytes(&model->now[stack]);
    model->live[tick - 1] = live;
    if (live <= model->peak)
        return;
    model->peak = live;
    model->peak_tick = tick;
    memcpy(model->at_peak, model->now, sizeof model->now);
}

static struct hs_store *import(struct model *model)
{
    struct random_state random = {test_seed("sums")};
    struct trace_writer writer;
    struct hs_store *store;
    struct hs_error error = {""};
    const struct hs_import_options options = {.temporary = true};
    *model = (struct model){.peak = 0};
    trace_writer__open(&writer, path, HS_BYTE_ORDER_LITTLE, 8);
    write_meta(&writer);
    for (uint64_t tick = 1; tick <= TICKS; tick++)
        write_tick(&writer, &random, model, tick);
    trace_writer__close(&writer, true, TICKS * (uint64_t)TICK_NS);
    int failed = hs_import__open(path, &options, &store, &error);
    ck_assert_msg(!failed, "%s", error.message);
    return store;
}

static const struct hs_total *total_of(const struct hs_totals *totals, uint32_t stack)
{
    for (size_t i = 0; i < totals->count; i++)
        if (totals->total[i].stack == stack)
            return &totals->total[i];
    return NULL;
}

START_TEST(totals_are_those_of_the_last_tick)
{
    struct model model;
    struct hs_store *store = import(&model);
    struct hs_totals totals;
    ck_assert_int_eq(hs_query__totals(store, NULL, NULL, &totals, NULL), 0);
    for (uint32_t stack = 0; stack < STACKS; stack++) {
        const struct hs_total *total = total_of(&totals, stack);
        const uint64_t *now = model.now[stack].change;
        ck_assert_int_eq(total != NULL, now[HS_SUM_ALLOCATED_COUNT] != 0);
        if (!total)
            continue;
        ck_assert_uint_eq(total->allocated_count, now[HS_SUM_ALLOCATED_COUNT]);
        ck_assert_uint_eq(total->allocated_bytes, now[HS_SUM_ALLOCATED_BYTES]);
        ck_assert_uint_eq(total->allocated_usable, now[HS_SUM_ALLOCATED_BYTES] + now[HS_SUM_ALLOCATED_SLACK]);
        ck_assert_uint_eq(total->freed_count, now[HS_SUM_FREED_COUNT]);
        ck_assert_uint_eq(total->live_bytes, live_bytes(&model.now[stack]));
        ck_assert_uint_eq(total->temporary_count, now[HS_SUM_TEMPORARY_COUNT]);
        ck_assert_uint_eq(total->temporary_bytes, now[HS_SUM_TEMPORARY_BYTES]);
        ck_assert_uint_eq(total->peak_bytes, live_bytes(&model.at_peak[stack]));
    }
    hs_totals__free(&totals);
    hs_store__close(store);
}
END_TEST

START_TEST(the_peak_is_the_highest_tick)
{
    struct model model;
    struct hs_store *store = import(&model);
    const struct hs_summary *summary = hs_store__summary(store);
    ck_assert(summary->is_aggregate);
    ck_assert_uint_eq(summary->aggregate_interval_ns, 10000000000);
    ck_assert_uint_eq(summary->aggregate_ticks, TICKS);
    ck_assert_uint_eq(summary->peak.bytes, model.peak);
    ck_assert_uint_eq(summary->peak_time, model.peak_tick * TICK_NS);
    ck_assert_uint_eq(summary->live.bytes, model.live[TICKS - 1]);
    ck_assert_uint_eq(summary->unknown_frees, TICKS);
    ck_assert_uint_eq(summary->reallocations, 2 * TICKS);
    ck_assert_uint_eq(summary->events, 10 * (TICKS + TICKS / 3));
    hs_store__close(store);
}
END_TEST

// One point for each tick, which lies in the middle of it.
START_TEST(the_timeline_has_every_tick)
{
    struct model model;
    struct hs_store *store = import(&model);
    struct hs_timeline timeline;
    struct hs_error error = {""};
    uint64_t from = TICK_NS / 2;
    int failed =
        hs_query__timeline(store, NULL, from, from + TICKS * (uint64_t)TICK_NS - 1, TICKS, NULL, &timeline, &error);
    ck_assert_msg(!failed, "%s", error.message);
    for (unsigned i = 0; i < TICKS; i++)
        ck_assert_uint_eq(timeline.point[i].live_bytes_end, model.live[i]);
    hs_timeline__free(&timeline);
    hs_store__close(store);
}
END_TEST

START_TEST(what_is_not_known_is_refused)
{
    struct model model;
    struct hs_store *store = import(&model);
    struct hs_filter filter;
    struct hs_totals totals;
    struct hs_rows rows;
    struct hs_error error = {""};
    hs_filter__init(&filter);
    filter.size_min = 10;
    ck_assert_int_eq(hs_query__totals(store, &filter, NULL, &totals, &error), -ENOTSUP);
    ck_assert_ptr_nonnull(strstr(error.message, "sums per stack"));
    ck_assert_int_eq(hs_query__rows(store, NULL, HS_ROW_BY_TIME, false, 0, 10, NULL, &rows, &error), -ENOTSUP);
    hs_store__close(store);
}
END_TEST

// As NFS deletes a file that is in use: it hides it until it is closed.
static bool hides;

int __real_unlinkat(int folder, const char *name, int flags);
int __wrap_unlinkat(int folder, const char *name, int flags);

int __wrap_unlinkat(int folder, const char *name, int flags)
{
    char hidden[64];
    snprintf(hidden, sizeof hidden, ".nfs-%s", name);
    return hides ? renameat(folder, name, folder, hidden) : __real_unlinkat(folder, name, flags);
}

START_TEST(nothing_is_left_of_a_store_whose_deleted_files_are_hidden)
{
    struct model model;
    char folder[] = "/tmp/heapsonde-hidden-XXXXXX", command[96];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    char *before = getenv("TMPDIR") ? strdup(getenv("TMPDIR")) : NULL;
    setenv("TMPDIR", folder, 1);
    hides = true;
    struct hs_store *store = import(&model);
    ck_assert_int_ne(rmdir(folder), 0);
    snprintf(command, sizeof command, "find %s -name '.nfs-*' -type f -delete", folder);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_ne(rmdir(folder), 0);
    hs_store__close(store);
    hides = false;
    ck_assert_int_eq(before ? setenv("TMPDIR", before, 1) : unsetenv("TMPDIR"), 0);
    free(before);
    ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

// Ticks of a file that nobody recorded: what goes up is what may be added up, and nothing goes below nothing.
START_TEST(sums_of_huge_numbers_do_not_wrap)
{
    static uint8_t bytes[1 << 16];
    static const uint64_t changes[] = {INT64_MAX, (uint64_t)1 << 62, INT64_MAX - 1, 1000, 0 - (uint64_t)1000};
    const struct hs_import_options options = {.temporary = true};
    const struct hs_aggregate_head head = {.domain = HS_AGGREGATE_HEAP};
    struct trace_writer writer;
    struct hs_store *store;
    struct hs_totals totals;
    trace_writer__open(&writer, path, HS_BYTE_ORDER_LITTLE, 8);
    write_meta(&writer);
    for (uint64_t tick = 1; tick <= TICKS; tick++) {
        struct hs_aggregate_writer sums;
        hs_aggregate_begin(&sums, bytes, sizeof bytes, &head);
        for (uint32_t stack = 0; stack < STACKS; stack++) {
            struct hs_aggregate_record record = {.stack = stack};
            for (unsigned i = 0; i < HS_SUM_COUNT; i++)
                record.change[i] = changes[(tick + stack + i) % 5];
            ck_assert(hs_aggregate_put(&sums, &record));
        }
        write_part(&writer, &sums, bytes, tick, 10);
    }
    trace_writer__close(&writer, true, TICKS * (uint64_t)TICK_NS);
    ck_assert_int_eq(hs_import__open(path, &options, &store, NULL), 0);
    ck_assert_uint_gt(hs_store__summary(store)->capped_numbers, 0);
    ck_assert_int_eq(hs_query__totals(store, NULL, NULL, &totals, NULL), 0);
    unsigned __int128 allocated = 0, live = 0;
    for (size_t i = 0; i < totals.count; i++) {
        allocated += totals.total[i].allocated_usable;
        live += totals.total[i].live_usable;
    }
    ck_assert(allocated && allocated <= (uint64_t)1 << 61 && live <= allocated);
    ck_assert(totals.sum.allocated_usable == allocated && totals.sum.live_usable == live);
    ck_assert_uint_eq(hs_store__summary(store)->allocated_usable, totals.sum.allocated_usable);
    hs_totals__free(&totals);
    hs_store__close(store);
}
END_TEST

START_TEST(a_payload_is_read_as_it_was_written)
{
    struct random_state random = {test_seed("sums")};
    uint8_t bytes[4096];
    struct hs_aggregate_record written[20], record;
    const struct hs_aggregate_head head = {
        .domain = HS_AGGREGATE_POOLS, .unknown_frees = 1, .reallocations = UINT64_MAX, .folded = 7};
    struct hs_aggregate_head read;
    struct hs_aggregate_writer writer;
    struct hs_aggregate_reader reader;
    hs_aggregate_begin(&writer, bytes, sizeof bytes, &head);
    for (unsigned i = 0; i < 20; i++) {
        written[i] = (struct hs_aggregate_record){.stack = (uint32_t)random_below(&random, UINT32_MAX)};
        for (unsigned k = 0; k < HS_SUM_COUNT; k++)
            written[i].change[k] = k && random_below(&random, 2) ? 0 : 0 - random_below(&random, UINT64_MAX) - 1;
        ck_assert(hs_aggregate_put(&writer, &written[i]));
    }
    size_t length = (size_t)(writer.at - bytes);
    ck_assert(hs_aggregate_open(&reader, bytes, length, &read));
    ck_assert_uint_eq(read.reallocations, UINT64_MAX);
    for (unsigned i = 0; i < 20; i++) {
        ck_assert_int_eq(hs_aggregate_next(&reader, &record), 1);
        ck_assert_uint_eq(record.stack, written[i].stack);
        ck_assert_mem_eq(record.change, written[i].change, sizeof record.change);
    }
    ck_assert_int_eq(hs_aggregate_next(&reader, &record), 0);
    // Cut anywhere it ends in time.
    for (size_t cut = 0; cut < length; cut++)
        for (int more = hs_aggregate_open(&reader, bytes, cut, &read); more > 0;)
            more = hs_aggregate_next(&reader, &record);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sums");
    TCase *tests = tcase_create("sums");
    tcase_add_checked_fixture(tests, make_path, remove_path);
    tcase_add_test(tests, totals_are_those_of_the_last_tick);
    tcase_add_test(tests, the_peak_is_the_highest_tick);
    tcase_add_test(tests, the_timeline_has_every_tick);
    tcase_add_test(tests, what_is_not_known_is_refused);
    tcase_add_test(tests, nothing_is_left_of_a_store_whose_deleted_files_are_hidden);
    tcase_add_test(tests, sums_of_huge_numbers_do_not_wrap);
    tcase_add_test(tests, a_payload_is_read_as_it_was_written);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
