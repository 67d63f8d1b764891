// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Events of several threads with equal times, or with times that are a little wrong: whichever thread's chunk comes
// first, a free ends the block that it freed.
#include "host/convert/strip.h"
#include "host/fleet/events.h"
#include "host/import/import.h"
#include "tests/format/check_random.h"
#include "tests/store/import_folder.h"
#include "tests/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define A       0x10000
#define B       0x20000
#define STREAMS 100

struct stream_event {
    uint32_t stream;
    struct hs_event event;
};

#define MALLOC(stream, at, where)                                                                                      \
    {                                                                                                                  \
        stream,                                                                                                        \
        {                                                                                                              \
            .kind = HS_EVENT_MALLOC, .time = (at), .address = (where), .size = 24, .usable = 24                        \
        }                                                                                                              \
    }
#define FREE(stream, at, where)                                                                                        \
    {                                                                                                                  \
        stream,                                                                                                        \
        {                                                                                                              \
            .kind = HS_EVENT_FREE, .time = (at), .address = (where)                                                    \
        }                                                                                                              \
    }
#define REALLOC(stream, begin, at, from, to)                                                                           \
    {                                                                                                                  \
        stream,                                                                                                        \
        {                                                                                                              \
            .kind = HS_EVENT_REALLOC, .time = (at), .begin_time = (begin), .old_address = (from), .address = (to),     \
            .size = 40, .usable = 40                                                                                   \
        }                                                                                                              \
    }

// Whether the times are those of a processor's counter, which ticks each nanosecond.
static bool counts;

// Each stream's events in their order, the streams one after the other: forwards or backwards.
static void write_streams(const struct stream_event *events, size_t count, bool backwards)
{
    struct hs_event *of_stream = malloc((count + 1) * sizeof *of_stream);
    struct trace_writer writer;
    trace_writer__open(&writer, path, HS_BYTE_ORDER_LITTLE, 8);
    trace_writer__set_clock(&writer, counts ? HS_CLOCK_COUNTER : HS_CLOCK_MONOTONIC);
    for (uint32_t i = 0; i < STREAMS; i++) {
        uint32_t stream = backwards ? STREAMS - 1 - i : i;
        size_t some = 0;
        for (size_t k = 0; k < count; k++)
            if (events[k].stream == stream)
                of_stream[some++] = events[k].event;
        if (some)
            trace_writer__events(&writer, stream, of_stream, some, false);
    }
    trace_writer__close(&writer, true, events[count - 1].event.time + 1);
    free(of_stream);
}

static struct hs_store *import(const char *trace)
{
    const struct hs_import_options options = {.temporary = true};
    struct hs_error error = {.message = ""};
    struct hs_store *store;
    ck_assert_msg(hs_import__open(trace, &options, &store, &error) == 0, "%s", error.message);
    return store;
}

struct expected {
    uint64_t unknown, missed, live, unmaps, mapped, reallocations;
};

static void expect(const char *trace, const struct expected *expected)
{
    struct hs_store *store = import(trace);
    const struct hs_summary *summary = hs_store__summary(store);
    ck_assert_uint_eq(summary->unknown_frees, expected->unknown);
    ck_assert_uint_eq(summary->missed_frees, expected->missed);
    ck_assert_uint_eq(summary->live.count, expected->live);
    ck_assert_uint_eq(summary->unknown_unmaps, expected->unmaps);
    ck_assert_uint_eq(summary->map_live.count, expected->mapped);
    ck_assert_uint_eq(summary->reallocations, expected->reallocations);
    hs_store__close(store);
}

// What is stripped of its short-lived blocks has the others, and no free of one that it has not.
static void expect_stripped(void)
{
    char stripped[200];
    struct hs_error error = {.message = ""};
    struct hs_store *store = import(path);
    snprintf(stripped, sizeof stripped, "%s/stripped.dat", folder);
    for (int all = 0; all < 2; all++) {
        struct hs_strip strip = {.shortest_ns = all ? HS_NEVER : 300};
        FILE *out = fopen(stripped, "w");
        ck_assert_msg(hs_strip__write(path, store, out, &strip, &error) == 0, "%s", error.message);
        ck_assert_int_eq(fclose(out), 0);
        struct hs_store *after = import(stripped);
        const struct hs_summary *summary = hs_store__summary(after);
        ck_assert_uint_eq(summary->unknown_frees, 0);
        ck_assert_uint_le(summary->missed_frees, hs_store__summary(store)->missed_frees);
        ck_assert_uint_eq(summary->live.count, hs_store__summary(store)->live.count);
        ck_assert_uint_eq(summary->live.bytes, hs_store__summary(store)->live.bytes);
        ck_assert_uint_eq(summary->allocations + strip.left_out, hs_store__summary(store)->allocations);
        hs_store__close(after);
    }
    hs_store__close(store);
}

struct added_up {
    uint64_t count, bytes, ticks;
};

static int add_change(void *context, uint32_t stack, uint64_t size, bool ends)
{
    struct added_up *sums = context;
    (void)stack;
    sums->count += ends ? -(uint64_t)1 : 1;
    sums->bytes += ends ? -size : size;
    return 0;
}

static int add_tick(void *context, uint64_t time)
{
    struct added_up *sums = context;
    (void)time;
    sums->ticks++;
    return 0;
}

// The rows of a fleet have the blocks of the report.
static void expect_added_up(void)
{
    struct added_up sums = {0};
    struct hs_error error = {.message = ""};
    struct hs_store *store = import(path);
    const struct hs_summary *summary = hs_store__summary(store);
    const struct hs_fleet_events replay = {
        .last_time = summary->end_time, .parts = 4, .change = add_change, .tick = add_tick, .context = &sums};
    uint64_t damaged;
    ck_assert_msg(hs_fleet_events__replay(path, &replay, &damaged, &error) == 0, "%s", error.message);
    ck_assert_uint_eq(sums.count, summary->live.count);
    ck_assert_uint_eq(sums.bytes, summary->live.bytes);
    ck_assert_uint_eq(sums.ticks, 4);
    ck_assert_uint_eq(damaged, 0);
    hs_store__close(store);
}

static void expect_both_ways(const struct stream_event *events, size_t count, const struct expected *expected)
{
    for (int backwards = 0; backwards < 2; backwards++) {
        write_streams(events, count, backwards);
        expect(path, expected);
        expect_stripped();
        expect_added_up();
    }
}

#define COUNT(events) (sizeof(events) / sizeof *(events))

START_TEST(free_in_another_thread_at_the_same_time)
{
    static const struct stream_event events[] = {MALLOC(0, 5, B), MALLOC(1, 100, A), FREE(2, 100, A), FREE(0, 200, B)};
    expect_both_ways(events, COUNT(events), &(struct expected){0});
}
END_TEST

START_TEST(address_given_out_again_at_the_same_time)
{
    static const struct stream_event events[] = {MALLOC(0, 5, A), FREE(1, 100, A), MALLOC(2, 100, A), FREE(3, 100, A),
                                                 MALLOC(4, 100, A)};
    expect_both_ways(events, COUNT(events), &(struct expected){.live = 1});
}
END_TEST

START_TEST(what_stands_behind_waits)
{
    static const struct stream_event events[] = {MALLOC(0, 5, A),   FREE(2, 100, A), MALLOC(1, 100, A),
                                                 MALLOC(1, 100, B), FREE(2, 100, B), MALLOC(2, 100, B),
                                                 FREE(3, 100, B),   FREE(3, 101, A)};
    expect_both_ways(events, COUNT(events), &(struct expected){0});
}
END_TEST

START_TEST(reallocs_are_matched)
{
    static const struct stream_event events[] = {
        MALLOC(0, 5, A),   REALLOC(1, 100, 100, A, B), MALLOC(2, 100, A),
        FREE(3, 100, B),   REALLOC(4, 100, 110, A, B), FREE(5, 110, B),
        MALLOC(6, 111, A), REALLOC(7, 111, 400, A, B), REALLOC(8, 400, 800, B, A)};
    expect_both_ways(events, COUNT(events), &(struct expected){.live = 1, .reallocations = 4});
}
END_TEST

START_TEST(what_is_unknown_stays_unknown)
{
    // The first of each thread frees what the trace does not know.
    static const struct stream_event events[] = {FREE(1, 100, 0x990000), MALLOC(1, 100, A), FREE(2, 100, A),
                                                 MALLOC(2, 100, B),      FREE(2, 200, B),   FREE(3, 200, 0x990000)};
    expect_both_ways(events, COUNT(events), &(struct expected){.unknown = 2});
}
END_TEST

START_TEST(missed_frees_stay_missed)
{
    static const struct stream_event events[] = {MALLOC(0, 5, A), MALLOC(1, 100, A), MALLOC(2, 200, A),
                                                 FREE(1, 200, A)};
    expect_both_ways(events, COUNT(events), &(struct expected){.live = 1, .missed = 1});
}
END_TEST

START_TEST(pools_and_mappings_are_matched)
{
    static const struct stream_event events[] = {
        {0, {.kind = HS_EVENT_MMAP, .time = 5, .address = 0x100000, .size = 0x4000}},
        {1, {.kind = HS_EVENT_MUNMAP, .time = 100, .address = 0x100000, .size = 0x4000}},
        {2, {.kind = HS_EVENT_MMAP, .time = 100, .address = 0x100000, .size = 0x2000}},
        {3, {.kind = HS_EVENT_MUNMAP, .time = 100, .address = 0x100000, .size = 0x2000}},
        {4, {.kind = HS_EVENT_MMAP, .time = 100, .address = 0x300000, .size = 0x2000}},
        {1, {.kind = HS_EVENT_MUNMAP, .time = 100, .address = 0x300000, .size = 0x2000}},
        {5, {.kind = HS_EVENT_POOL_ALLOC, .time = 100, .address = A, .size = 8, .usable = 8, .pool = 7}},
        {6, {.kind = HS_EVENT_POOL_FREE, .time = 100, .address = A, .pool = 7}},
        {7, {.kind = HS_EVENT_POOL_ALLOC, .time = 100, .address = A, .size = 8, .usable = 8, .pool = 7}},
        {8, {.kind = HS_EVENT_POOL_FREE, .time = 100, .address = A, .pool = 7}},
        {9, {.kind = HS_EVENT_MUNMAP, .time = 100, .address = 0x700000, .size = 0x2000}},
        MALLOC(9, 100, A),
        FREE(10, 100, A)};
    expect_both_ways(events, COUNT(events), &(struct expected){.unmaps = 1});
}
END_TEST

// More threads, and more steps, than are put aside at one time: nothing is lost.
START_TEST(more_than_is_put_aside)
{
    const size_t count = 30000;
    struct stream_event *events = calloc(count, sizeof *events);
    for (size_t i = 0; i < count; i++)
        events[i] = (struct stream_event){i % STREAMS, {.kind = HS_EVENT_FREE, .time = 7, .address = 16 + 16 * i}};
    events[0].event.kind = HS_EVENT_MALLOC;
    for (int backwards = 0; backwards < 2; backwards++) {
        write_streams(events, count, backwards);
        expect(path, &(struct expected){.unknown = count - 1, .live = 1});
    }
    free(events);
}
END_TEST

// ---- times that are a little wrong ---------------------------------------------------------------------------------

START_TEST(free_with_an_earlier_time)
{
    static const struct stream_event events[] = {FREE(2, 100, A), MALLOC(2, 150, B), MALLOC(1, 1090, A),
                                                 FREE(1, 1095, B), MALLOC(2, 2000, A)};
    counts = true;
    expect_both_ways(events, COUNT(events), &(struct expected){.live = 1});
}
END_TEST

START_TEST(address_given_out_before_its_free)
{
    static const struct stream_event events[] = {MALLOC(0, 5, A), MALLOC(1, 3000, A), FREE(2, 3900, A),
                                                 FREE(1, 9000, A)};
    counts = true;
    expect_both_ways(events, COUNT(events), &(struct expected){0});
}
END_TEST

// Far apart they are what they seem to be. What waits less is not taken with what has waited long enough.
START_TEST(waiting_has_an_end)
{
    static const struct stream_event events[] = {FREE(2, 100, A),    MALLOC(1, 1101, A),        FREE(3, 5000, 0x990000),
                                                 FREE(4, 5900, B),   MALLOC(5, 6100, 0x770000), MALLOC(6, 6800, B),
                                                 MALLOC(1, 20000, A)};
    counts = true;
    expect_both_ways(events, COUNT(events), &(struct expected){.unknown = 2, .missed = 1, .live = 2});
}
END_TEST

// Blocks go from thread to thread. Each time is wrong by up to half of what is waited for.
static void make_handed_over(struct random_state *random, struct stream_event *events, size_t count)
{
    enum { PLACES = 4000, EVENT_NS = 30, WRONG_NS = 480 };
    uint64_t last[8] = {0};
    for (size_t i = 0; i < count; i++) {
        const size_t pair = i / 16, of_pair = i % 16, block = 8 * pair + of_pair % 8;
        const uint32_t stream = (uint32_t)random_below(random, COUNT(last));
        uint64_t time = 1000 + i * EVENT_NS + random_below(random, WRONG_NS);
        if (time < last[stream])
            time = last[stream];
        last[stream] = time;
        events[i] = (struct stream_event){stream,
                                          {.kind = of_pair < 8 ? HS_EVENT_MALLOC : HS_EVENT_FREE,
                                           .time = time,
                                           .address = A + 64 * (block % PLACES)}};
        if (of_pair < 8)
            events[i].event.size = events[i].event.usable = 24;
    }
}

START_TEST(random_programs_with_wrong_times)
{
    enum { EVENTS = 48000 };
    struct random_state random = {test_seed("wrong times")};
    struct stream_event *events = calloc(EVENTS, sizeof *events);
    make_handed_over(&random, events, EVENTS);
    counts = true;
    expect_both_ways(events, EVENTS, &(struct expected){0});
    free(events);
}
END_TEST

// ---- a program with coarse ticks -----------------------------------------------------------------------------------

// What threads really did, one call after the other, over few addresses.
static size_t make_coarse_program(struct random_state *random, struct stream_event *events, size_t count, uint64_t tick,
                                  uint64_t *live)
{
    bool is_live[24] = {false};
    *live = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t address = random_below(random, COUNT(is_live));
        bool *block = &is_live[address];
        *live += *block ? -1 : 1;
        events[i] = (struct stream_event){(uint32_t)random_below(random, 6),
                                          {.kind = *block ? HS_EVENT_FREE : HS_EVENT_MALLOC,
                                           .time = 1000 + i * 30 / tick * tick,
                                           .address = A + 64 * address}};
        if (!*block)
            events[i].event.size = events[i].event.usable = 24;
        *block = !*block;
    }
    return count;
}

// Of two calls in a tick each finds its block. Of more there may be orders that fit as well as the true one;
// what is stripped must be what was imported in either case.
START_TEST(random_programs_with_coarse_ticks)
{
    enum { EVENTS = 6000, EVENT_TICKS = 30 };
    const uint64_t seed = test_seed("ties");
    struct stream_event *events = calloc(EVENTS, sizeof *events);
    for (uint64_t calls = 1; calls <= 12; calls += calls < 3 ? 1 : 3) {
        struct random_state random = {seed + calls};
        struct expected expected = {0};
        make_coarse_program(&random, events, EVENTS, calls * EVENT_TICKS, &expected.live);
        if (calls <= 2)
            expect_both_ways(events, EVENTS, &expected);
        write_streams(events, EVENTS, calls % 2);
        expect_stripped();
    }
    free(events);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ties");
    TCase *tests = tcase_create("ties");
    tcase_add_checked_fixture(tests, make_folder, remove_folder);
    tcase_add_test(tests, free_in_another_thread_at_the_same_time);
    tcase_add_test(tests, address_given_out_again_at_the_same_time);
    tcase_add_test(tests, what_stands_behind_waits);
    tcase_add_test(tests, reallocs_are_matched);
    tcase_add_test(tests, what_is_unknown_stays_unknown);
    tcase_add_test(tests, missed_frees_stay_missed);
    tcase_add_test(tests, pools_and_mappings_are_matched);
    tcase_add_test(tests, more_than_is_put_aside);
    tcase_add_test(tests, free_with_an_earlier_time);
    tcase_add_test(tests, address_given_out_before_its_free);
    tcase_add_test(tests, waiting_has_an_end);
    tcase_add_test(tests, random_programs_with_wrong_times);
    tcase_add_test(tests, random_programs_with_coarse_ticks);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
