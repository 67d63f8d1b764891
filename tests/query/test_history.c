// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Peaks and timelines, against what happened, sorted by time.
#include "host/query/event_log_file.h"
#include "host/query/indexes.h"
#include "host/query/order.h"
#include "tests/format/check_random.h"
#include "tests/query/random_store.h"
#include "tests/rounds.h"
#include "tests/suite.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct happening {
    uint64_t time;
    uint32_t row;
    bool is_free;
};

// At one instant what was there before is freed, then row after row is allocated and, when it lived no time, freed.
static int compare_happenings(const void *left, const void *right)
{
    const struct happening *a = left, *b = right;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    bool a_old = a->is_free && hs_row__time(columns, a->row) < a->time;
    bool b_old = b->is_free && hs_row__time(columns, b->row) < b->time;
    if (a_old != b_old)
        return a_old ? -1 : 1;
    return a->row != b->row ? (a->row > b->row) - (a->row < b->row) : a->is_free - b->is_free;
}

static size_t slow_history(const uint32_t *row, uint64_t total, struct happening *happening)
{
    size_t count = 0;
    for (uint64_t i = 0; i < total; i++) {
        uint64_t freed = hs_row__free_time(columns, row[i]);
        happening[count++] = (struct happening){hs_row__time(columns, row[i]), row[i], false};
        if (freed != HS_NEVER)
            happening[count++] = (struct happening){freed, row[i], true};
    }
    qsort(happening, count, sizeof(*happening), compare_happenings);
    return count;
}

static void check_peak(const struct hs_filter *filter, const struct hs_query_control *control,
                       const struct happening *happening, size_t count)
{
    struct hs_live_total live = {0}, most = {0}, peak;
    uint64_t time = 0, peak_time;
    for (size_t i = 0; i < count; i++) {
        uint64_t size = hs_row__size(columns, happening[i].row);
        uint64_t usable = size + hs_row__slack(columns, happening[i].row);
        live.bytes += happening[i].is_free ? 0 - size : size;
        live.usable += happening[i].is_free ? 0 - usable : usable;
        live.count += happening[i].is_free ? UINT64_MAX : 1;
        if (live.bytes > most.bytes) {
            most = live;
            time = happening[i].time;
        }
    }
    ck_assert_int_eq(hs_query__peak(store, filter, control, &peak, &peak_time, NULL), 0);
    ck_assert_uint_eq(peak.bytes, most.bytes);
    ck_assert_uint_eq(peak.usable, most.usable);
    ck_assert_uint_eq(peak.count, most.count);
    ck_assert_uint_eq(peak_time, time);
}

static void check_point(const struct hs_timeline *timeline, size_t point, uint64_t to,
                        const struct happening *happening, size_t count)
{
    struct hs_timeline_point expected = {0};
    const struct hs_timeline_point *found = &timeline->point[point];
    uint64_t from = timeline->from + point * timeline->width, bytes = 0, blocks = 0;
    bool last = point + 1 == timeline->count, started = false;
    for (size_t i = 0; i <= count; i++) {
        bool is_end = i == count || happening[i].time > to || (!last && happening[i].time >= from + timeline->width);
        if (!started && (is_end || happening[i].time >= from)) {
            expected.live_bytes_max = bytes;
            expected.live_count_max = blocks;
            started = true;
        }
        if (is_end)
            break;
        uint64_t size = hs_row__size(columns, happening[i].row);
        bytes += happening[i].is_free ? 0 - size : size;
        blocks += happening[i].is_free ? UINT64_MAX : 1;
        if (!started)
            continue;
        expected.live_bytes_max = bytes > expected.live_bytes_max ? bytes : expected.live_bytes_max;
        expected.live_count_max = blocks > expected.live_count_max ? blocks : expected.live_count_max;
        expected.allocated_bytes += happening[i].is_free ? 0 : size;
        expected.allocated_count += !happening[i].is_free;
        expected.freed_bytes += happening[i].is_free ? size : 0;
        expected.freed_count += happening[i].is_free;
    }
    expected.live_bytes_end = bytes;
    expected.live_count_end = blocks;
    ck_assert_mem_eq(found, &expected, sizeof(expected));
}

static void check_timeline(const struct hs_filter *filter, const struct hs_query_control *control,
                           const struct happening *happening, size_t count, struct random_state *random)
{
    struct hs_timeline timeline;
    uint64_t from = random_below(random, 2) ? 0 : random_below(random, end_time);
    uint64_t to = random_below(random, 2) ? end_time : from + random_below(random, end_time);
    size_t points = 1 + random_below(random, 60);
    ck_assert_int_eq(hs_query__timeline(store, filter, from, to, points, control, &timeline, NULL), 0);
    ck_assert_uint_eq(timeline.from, from);
    ck_assert_uint_eq(timeline.count, points);
    for (size_t i = 0; i < points; i++)
        check_point(&timeline, i, to, happening, count);
    hs_timeline__free(&timeline);
}

static void check_history(uint64_t coarseness, struct random_state *random)
{
    open_trace(random_next(random), coarseness);
    uint32_t *row = malloc((rows + 1) * sizeof(*row));
    struct happening *happening = malloc((2 * rows + 1) * sizeof(*happening));
    for (unsigned round = 0; round < test_rounds(10); round++) {
        struct hs_filter filter;
        choose_filter(&filter, random);
        size_t count = slow_history(row, slow_rows(&filter, row), happening);
        check_peak(&filter, NULL, happening, count);
        check_timeline(&filter, NULL, happening, count, random);
    }
    free(happening);
    free(row);
    hs_store__close(store);
}

START_TEST(peaks_and_timelines_are_those_of_what_happened)
{
    struct random_state random = {test_seed(__func__)};
    check_history(1, &random);
    check_history(1000, &random);
    check_history(100000, &random);
}
END_TEST

// What codes know: sizes, states, stacks, streams, domains.
static void choose_known_filter(struct hs_filter *filter, struct random_state *random)
{
    static const unsigned conditions[] = {2, 3, 9, 10, 11, 13};
    static uint64_t streams;
    hs_filter__init(filter);
    for (uint64_t n = random_below(random, 3); n; n--)
        add_this_condition(filter, random, conditions[random_below(random, 6)]);
    if (!random_below(random, 4))
        filter->flags_none = HS_ROW_REALLOCATED;
    if (!random_below(random, 4))
        filter->domains = 1u << random_below(random, HS_DOMAIN_COUNT);
    streams = random_next(random);
    if (!random_below(random, 4))
        filter->streams = (struct hs_set){&streams, 64};
}

// Of a trace whose stacks make more codes than there may be.
static size_t count_without_stacks(void)
{
    struct hs_dictionary *dictionary;
    ck_assert_int_eq(hs_dictionary__make(&dictionary, store, NULL, NULL), 0);
    size_t most = dictionary->count;
    for (int failed = 0; !failed && dictionary->by_stacks; most -= most / 16) {
        hs_dictionary__destroy(dictionary);
        hs_dictionary_limits.codes = most - 1;
        failed = hs_dictionary__make(&dictionary, store, NULL, NULL);
        ck_assert_int_eq(failed, 0);
    }
    ck_assert(!dictionary->by_stacks);
    hs_dictionary__destroy(dictionary);
    return hs_dictionary_limits.codes;
}

static bool has_vast_rows(const uint32_t *row, size_t count)
{
    bool has = false;
    for (size_t i = 0; i < count; i++)
        has = has || hs_row__size(hs_store__columns(store), row[i]) >= hs_event_log_limits.vast;
    return has;
}

static void check_log(uint64_t coarseness, bool by_stacks, struct random_state *random)
{
    const struct hs_dictionary_limits usual = hs_dictionary_limits;
    struct hs_dictionary *dictionary;
    struct hs_event_log *log;
    struct hs_error error = {""};
    const struct hs_event_log_limits usual_log = hs_event_log_limits;
    hs_dictionary_limits = (struct hs_dictionary_limits){1, UINT32_MAX - 1};
    open_trace(random_next(random), coarseness);
    hs_event_log_limits.share = UINT64_MAX;
    if (!by_stacks)
        hs_dictionary_limits.codes = count_without_stacks();
    if (random_below(random, 2))
        hs_event_log_limits.there = 2 * rows; // fewer checkpoints than zones
    if (random_below(random, 2))
        hs_event_log_limits.vast = 1 + hs_row__size(hs_store__columns(store), random_below(random, rows));
    ck_assert_msg(!hs_dictionary__make(&dictionary, store, NULL, &error), "%s", error.message);
    ck_assert_msg(!hs_event_log__make(&log, dictionary, NULL, &error), "%s", error.message);
    const struct hs_indexes indexes = {.store = store, .events = log};
    const struct hs_query_control control = {.threads = (unsigned)random_below(random, 4), .indexes = &indexes};
    uint32_t *row = malloc((rows + 1) * sizeof(*row));
    struct happening *happening = malloc((2 * rows + 1) * sizeof(*happening));
    for (unsigned round = 0; round < test_rounds(12); round++) {
        struct hs_filter filter;
        choose_known_filter(&filter, random);
        ck_assert(hs_dictionary__knows(dictionary, store, &filter) == (by_stacks || !filter.stacks.words));
        if (!by_stacks)
            filter.stacks = (struct hs_set){0};
        const size_t matching = slow_rows(&filter, row);
        ck_assert(hs_event_log__suits(log, store, &filter) == !has_vast_rows(row, matching));
        size_t count = slow_history(row, matching, happening);
        check_peak(&filter, &control, happening, count);
        check_timeline(&filter, &control, happening, count, random);
    }
    free(happening);
    free(row);
    hs_event_log__destroy(log);
    hs_dictionary__destroy(dictionary);
    hs_store__close(store);
    hs_dictionary_limits = usual;
    hs_event_log_limits = usual_log;
}

START_TEST(sums_along_the_log_are_those_of_what_happened)
{
    struct random_state random = {test_seed(__func__)};
    check_log(1, true, &random);
    check_log(1000, true, &random);
    check_log(1000, false, &random);
    check_log(100000, true, &random);
}
END_TEST

// What the log does not know is not asked of it.
START_TEST(logs_know_what_their_codes_know)
{
    static const bool known[17] = {[2] = true, [3] = true, [9] = true, [10] = true, [11] = true, [13] = true};
    struct random_state random = {test_seed(__func__)};
    struct hs_dictionary *dictionary;
    struct hs_filter filter;
    hs_dictionary_limits = (struct hs_dictionary_limits){1, UINT32_MAX - 1};
    open_trace(random_next(&random), 1);
    ck_assert_int_eq(hs_dictionary__make(&dictionary, store, NULL, NULL), 0);
    for (unsigned condition = 0; condition < 17; condition++) {
        hs_filter__init(&filter);
        add_this_condition(&filter, &random, condition);
        bool asks = condition != 12 || filter.not_own_thread_only;
        ck_assert(hs_dictionary__knows(dictionary, store, &filter) == (known[condition] || !asks));
    }
    hs_filter__init(&filter);
    filter.free_stacks = (struct hs_set){stack_words, 64};
    ck_assert(!hs_dictionary__knows(dictionary, store, &filter));
    hs_dictionary__destroy(dictionary);
    hs_dictionary_limits.codes = 8;
    ck_assert_int_eq(hs_dictionary__make(&dictionary, store, NULL, NULL), -E2BIG);
    ck_assert_ptr_null(dictionary);
    hs_store__close(store);
}
END_TEST

// A part of the whole heap's timeline comes from the pyramid: the begin is rounded down, the values are exact.
START_TEST(parts_of_the_pyramid_are_exact)
{
    struct random_state random = {test_seed(__func__)};
    struct hs_filter all;
    hs_order_limits.exact = 0;
    hs_filter__init(&all);
    open_trace(random_next(&random), 1);
    for (unsigned round = 0; round < test_rounds(20); round++) {
        struct hs_timeline part, exact;
        uint64_t from = random_below(&random, end_time / 2), to = from + end_time / 2;
        size_t points = 1 + random_below(&random, 40);
        ck_assert_int_eq(hs_query__timeline(store, NULL, from, to, points, NULL, &part, NULL), 0);
        ck_assert_uint_le(part.from, from);
        ck_assert_uint_gt(part.from + part.width * points, to);
        ck_assert_int_eq(
            hs_query__timeline(store, &all, part.from, part.from + part.width * points - 1, points, NULL, &exact, NULL),
            0);
        ck_assert_uint_eq(exact.width, part.width);
        ck_assert_mem_eq(exact.point, part.point, points * sizeof(*part.point));
        hs_timeline__free(&part);
        hs_timeline__free(&exact);
    }
    hs_store__close(store);
}
END_TEST

// The most of each stack is the peak of that stack alone.
START_TEST(stack_peaks_are_the_peaks_of_the_stacks)
{
    struct random_state random = {test_seed(__func__)};
    open_trace(random_next(&random), 1000);
    for (unsigned i = 0; i < 40; i++) {
        uint32_t stack = hs_row__stack(columns, some_row(&random));
        struct hs_filter filter;
        struct hs_live_total peak;
        uint64_t time;
        hs_filter__init(&filter);
        memset(stack_words, 0, sizeof(stack_words));
        ck_assert_uint_lt(stack / 64, sizeof(stack_words) / sizeof(*stack_words));
        stack_words[stack / 64] = (uint64_t)1 << stack % 64;
        filter.stacks = (struct hs_set){stack_words, 64 * sizeof(stack_words) / sizeof(*stack_words)};
        ck_assert_int_eq(hs_query__peak(store, &filter, NULL, &peak, &time, NULL), 0);
        const struct hs_stack_peak known = hs_query__stack_peak(store, stack);
        ck_assert_uint_eq(known.bytes, peak.bytes);
        if (peak.bytes)
            ck_assert_uint_eq(known.time, time);
    }
    hs_store__close(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("history");
    TCase *cases = tcase_create("history");
    tcase_add_test(cases, peaks_and_timelines_are_those_of_what_happened);
    tcase_add_test(cases, sums_along_the_log_are_those_of_what_happened);
    tcase_add_test(cases, logs_know_what_their_codes_know);
    tcase_add_test(cases, parts_of_the_pyramid_are_exact);
    tcase_add_test(cases, stack_peaks_are_the_peaks_of_the_stacks);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
