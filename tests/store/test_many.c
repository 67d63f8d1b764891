// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Much of what there is usually little of: what an import does with each must not depend on how many there are. Where
// it does, these take hours.
#include "format/chunk.h"
#include "host/import/import.h"
#include "host/import/live_ranges.h"
#include "tests/format/check_random.h"
#include "tests/store/trace_writer.h"
#include "tests/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS  2000000u
#define MODULES  1000000u
#define MAPPINGS 1000000u
#define STREAMS  40000u
#define PLACES   3000u

static char folder[] = "/tmp/heapsonde-many-XXXXXX";
static char path[64];

static void make_folder(void)
{
    strcpy(folder, "/tmp/heapsonde-many-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/trace.dat", folder);
}

static void remove_folder(void)
{
    unlink(path);
    ck_assert_int_eq(rmdir(folder), 0);
}

// ---- live mappings -------------------------------------------------------------------------------------------------

static struct hs_live_mapping of(uint64_t start, uint64_t end)
{
    return (struct hs_live_mapping){.start = start, .end = end, .row = (uint32_t)start};
}

START_TEST(mappings_from_high_to_low_addresses)
{
    struct hs_live_ranges ranges = {0};
    struct hs_array list = {0};
    for (uint64_t i = MAPPINGS; i-- > 0;) {
        const struct hs_live_mapping added = of(2 * i, 2 * i + 1);
        ck_assert_int_eq(hs_live_ranges__add(&ranges, &added), 0);
    }
    ck_assert_int_eq(hs_live_ranges__list(&ranges, &list), 0);
    ck_assert_uint_eq(list.count, MAPPINGS);
    const struct hs_live_mapping *mapping = list.data;
    for (uint64_t i = 0; i < MAPPINGS; i++)
        ck_assert_uint_eq(mapping[i].start, 2 * i);
    free(list.data);
    hs_live_ranges__remove(&ranges, hs_live_ranges__behind(&ranges, 0), UINT64_MAX);
    ck_assert_uint_eq(ranges.blocks, 0);
    hs_live_ranges__free(&ranges);
}
END_TEST

// is[n]: the mapping [n, n + 1) is there.
static void expect(const struct hs_live_ranges *ranges, const bool *is)
{
    struct hs_range_place place = hs_live_ranges__behind(ranges, 0);
    for (uint64_t i = 0; i < PLACES; i++) {
        if (!is[i])
            continue;
        const struct hs_live_mapping *at = hs_live_ranges__at(ranges, place);
        ck_assert(at && at->start == i && at->end == i + 1 && at->row == i);
        place = hs_live_ranges__next(ranges, place);
    }
    ck_assert_ptr_null(hs_live_ranges__at(ranges, place));
}

static void change(struct hs_live_ranges *ranges, bool *is, struct random_state *random)
{
    uint64_t start = random_below(random, PLACES),
             end = start + 1 + random_below(random, 1 + random_below(random, 900));
    if (random_below(random, 60) && !is[start]) {
        const struct hs_live_mapping added = of(start, start + 1);
        ck_assert_int_eq(hs_live_ranges__add(ranges, &added), 0);
        is[start] = true;
    } else if (!random_below(random, 20)) {
        hs_live_ranges__remove(ranges, hs_live_ranges__behind(ranges, start), end);
        for (uint64_t i = start; i < end && i < PLACES; i++)
            is[i] = false;
    }
}

START_TEST(mappings_come_and_go)
{
    struct random_state random = {test_seed("mappings_come_and_go")};
    struct hs_live_ranges ranges = {0};
    struct hs_array list = {0};
    bool is[PLACES] = {false};
    for (int round = 0; round < 60000; round++) {
        change(&ranges, is, &random);
        if (round % 1000 == 0)
            expect(&ranges, is);
    }
    ck_assert_int_eq(hs_live_ranges__list(&ranges, &list), 0);
    ck_assert_int_eq(hs_live_ranges__restore(&ranges, list.data, list.count), 0);
    expect(&ranges, is);
    free(list.data);
    hs_live_ranges__free(&ranges);
}
END_TEST

// ---- traces --------------------------------------------------------------------------------------------------------

struct meta {
    struct trace_writer writer;
    struct hs_meta_writer records;
    uint8_t bytes[60000];
};

static void flush(struct meta *meta)
{
    trace_writer__meta(&meta->writer, meta->bytes, (size_t)(meta->records.at - meta->bytes), false);
    hs_meta_begin(&meta->records, meta->bytes, sizeof meta->bytes);
}

static struct hs_store *import(void)
{
    struct hs_store *store = NULL;
    struct hs_error error = {""};
    const struct hs_import_options options = {.temporary = true};
    int failed = hs_import__open(path, &options, &store, &error);
    ck_assert_msg(!failed, "%s", error.message);
    return store;
}

static void start(struct meta *meta)
{
    trace_writer__open(&meta->writer, path, HS_BYTE_ORDER_LITTLE, 8);
    hs_meta_begin(&meta->records, meta->bytes, sizeof meta->bytes);
}

START_TEST(threads)
{
    static struct meta meta;
    size_t count;
    start(&meta);
    for (uint32_t i = 0; i < 2 * THREADS; i++) // each is named twice
        if (!hs_meta_thread(&meta.records, i % THREADS, i % THREADS + 7, i, "t", 1)) {
            flush(&meta);
            ck_assert(hs_meta_thread(&meta.records, i % THREADS, i % THREADS + 7, i, "t", 1));
        }
    flush(&meta);
    trace_writer__close(&meta.writer, true, 1000);
    struct hs_store *store = import();
    const struct hs_thread *thread = hs_store__threads(store, &count);
    ck_assert(count == THREADS && thread[THREADS - 1].tid == THREADS + 6);
    hs_store__close(store);
}
END_TEST

// The one that was loaded first goes first.
START_TEST(modules)
{
    static struct meta meta;
    size_t count;
    start(&meta);
    for (uint32_t i = 0; i < 2 * MODULES; i++) {
        uint64_t address = 0x100000 + (uint64_t)(i % MODULES) * 0x10000;
        bool loads = i < MODULES;
        for (int attempt = 0; attempt < 2; attempt++) {
            if (loads ? hs_meta_module(&meta.records, i, address, address + 0x1000, address, NULL, 0, "/m", 2)
                      : hs_meta_unload(&meta.records, i, address))
                break;
            ck_assert_int_eq(attempt, 0);
            flush(&meta);
        }
    }
    flush(&meta);
    trace_writer__close(&meta.writer, true, 3 * MODULES);
    struct hs_store *store = import();
    const struct hs_module *module = hs_store__modules(store, &count);
    ck_assert(count == MODULES && module[5].load_time == 5 && module[5].unload_time == MODULES + 5);
    hs_store__close(store);
}
END_TEST

START_TEST(streams)
{
    struct trace_writer writer;
    trace_writer__open(&writer, path, HS_BYTE_ORDER_LITTLE, 8);
    for (uint32_t i = 0; i < STREAMS; i++) {
        const struct hs_event event = {
            .kind = HS_EVENT_MALLOC, .time = 10 + i, .address = 0x10000 + 64 * (uint64_t)i, .size = 24, .usable = 24};
        trace_writer__events(&writer, i, &event, 1, false);
    }
    trace_writer__close(&writer, true, 10 + STREAMS);
    struct hs_store *store = import();
    ck_assert_uint_eq(hs_store__summary(store)->live.count, STREAMS);
    hs_store__close(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("many");
    TCase *tests = tcase_create("many");
    tcase_add_checked_fixture(tests, make_folder, remove_folder);
    tcase_add_test(tests, mappings_from_high_to_low_addresses);
    tcase_add_test(tests, mappings_come_and_go);
    tcase_add_test(tests, threads);
    tcase_add_test(tests, modules);
    tcase_add_test(tests, streams);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
