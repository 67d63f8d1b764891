// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Questions to random traces of several zones, against answers that come from looking at one row after another and
// sorting what happened. Times are coarse, so that much happens at once.
#include "host/import/import.h"
#include "host/query/cells.h"
#include "host/query/near.h"
#include "host/query/order.h"
#include "host/query/query.h"
#include "host/query/ranking.h"
#include "host/query/scan.h"
#include "tests/format/check_random.h"
#include "tests/store/trace_writer.h"
#include "tests/suite.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EVENTS 270000

static char folder[] = "/tmp/heapsonde-query-XXXXXX";
static struct hs_store *store;
static const struct hs_columns *columns;
static uint64_t rows, end_time;
static uint64_t stack_words[1024];

static void write_trace(const char *path, uint64_t seed, uint64_t coarseness)
{
    struct random_program program;
    random_program__make(&program, seed, EVENTS, 3, true, 8);
    for (size_t i = 0; i < program.count; i++) {
        program.event[i].time /= coarseness;
        program.event[i].begin_time /= coarseness;
    }
    program.end_time /= coarseness;
    random_program__write(&program, path, HS_BYTE_ORDER_LITTLE, 8, false, true);
    random_program__free(&program);
}

static void open_trace(uint64_t seed, uint64_t coarseness)
{
    char path[256];
    struct hs_error error = {""};
    strcpy(folder, "/tmp/heapsonde-query-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/trace.dat", folder);
    write_trace(path, seed, coarseness);
    const struct hs_import_options options = {.temporary = true};
    int result = hs_import__open(path, &options, &store, &error);
    ck_assert_msg(!result, "%s", error.message);
    columns = hs_store__columns(store);
    rows = columns->rows;
    end_time = hs_store__summary(store)->end_time;
    ck_assert_uint_gt(rows, 2 * HS_ZONE_ROWS);
    unlink(path);
    rmdir(folder);
}

// ---- filters --------------------------------------------------------------------------------------------------------

static uint64_t some_row(struct random_state *random)
{
    return random_below(random, rows);
}

static bool is_third(void *context, const struct hs_store *of, uint64_t row)
{
    (void)context;
    (void)of;
    return row % 3 == 0;
}

static void add_this_condition(struct hs_filter *filter, struct random_state *random, unsigned number)
{
    static struct hs_time_range times[2];
    uint64_t a = hs_row__time(columns, some_row(random)), b = hs_row__time(columns, some_row(random));
    uint64_t first = a < b ? a : b, last = a < b ? b : a;
    switch (number) {
    case 0:
        filter->time_min = first;
        filter->time_max = last;
        break;
    case 1:
        filter->free_min = first;
        filter->free_max = random_below(random, 2) ? last : UINT64_MAX;
        break;
    case 2:
        filter->size_min = hs_row__size(columns, some_row(random));
        break;
    case 3:
        filter->size_max = hs_row__size(columns, some_row(random));
        break;
    case 4:
        filter->address_min = hs_row__address(columns, some_row(random));
        break;
    case 5:
        filter->lifetime_min = (last - first) / 16;
        filter->unfreed_live_forever = random_below(random, 2);
        break;
    case 6:
        filter->lifetime_max = (last - first) / 16;
        filter->unfreed_live_forever = random_below(random, 2);
        break;
    case 7:
        filter->alive_at[0] = first;
        filter->alive_count = 1;
        break;
    case 8:
        filter->alive_at[0] = first;
        filter->alive_at[1] = random_below(random, 8) ? last : UINT64_MAX;
        filter->alive_count = 2;
        break;
    case 9:
        filter->freed_only = true;
        break;
    case 10:
        filter->never_freed_only = true;
        break;
    case 11:
        filter->flags_all = random_below(random, 2) ? HS_ROW_TEMPORARY : HS_ROW_REALLOCATED;
        break;
    case 12:
        filter->flags_none = HS_ROW_REALLOCATED;
        filter->not_own_thread_only = random_below(random, 2);
        break;
    case 13:
        for (size_t i = 0; i < sizeof(stack_words) / sizeof(*stack_words); i++)
            stack_words[i] = random_next(random) & random_next(random);
        filter->stacks = (struct hs_set){stack_words, 64 * sizeof(stack_words) / sizeof(*stack_words)};
        break;
    case 14:
        filter->chain_length_min = 2;
        break;
    case 15:
        times[0] = (struct hs_time_range){first / 2, first};
        times[1] = (struct hs_time_range){last + 1, last + 1000};
        filter->times = times;
        filter->time_count = 2;
        break;
    default:
        filter->accept = is_third;
    }
}

static void add_condition(struct hs_filter *filter, struct random_state *random)
{
    add_this_condition(filter, random, (unsigned)random_below(random, 17));
}

static void choose_filter(struct hs_filter *filter, struct random_state *random)
{
    hs_filter__init(filter);
    for (uint64_t n = random_below(random, 4); n; n--)
        add_condition(filter, random);
}

// The matching rows, one after another.
static uint64_t slow_rows(const struct hs_filter *filter, uint32_t *row)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < rows; i++)
        if (hs_filter__matches(filter, store, i))
            row[count++] = (uint32_t)i;
    return count;
}

// ---- pages ----------------------------------------------------------------------------------------------------------

static uint64_t slow_key(enum hs_row_key by, uint32_t row)
{
    uint64_t freed = hs_row__free_time(columns, row);
    switch (by) {
    case HS_ROW_BY_ADDRESS:
        return hs_row__address(columns, row);
    case HS_ROW_BY_SIZE:
        return hs_row__size(columns, row);
    case HS_ROW_BY_LIFETIME:
        return (freed == HS_NEVER ? end_time : freed) - hs_row__time(columns, row);
    default:
        return hs_row__time(columns, row);
    }
}

static int compare_slow(const void *left, const void *right, void *by)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    uint64_t x = slow_key(*(enum hs_row_key *)by, a), y = slow_key(*(enum hs_row_key *)by, b);
    return x != y ? (x > y) - (x < y) : (a > b) - (a < b);
}

static void check_page(const struct hs_filter *filter, enum hs_row_key by, bool descending, uint64_t skip,
                       uint64_t limit, const uint32_t *sorted, uint64_t total)
{
    struct hs_rows page;
    struct hs_error error = {""};
    ck_assert_msg(!hs_query__rows(store, filter, by, descending, skip, limit, NULL, &page, &error), "%s",
                  error.message);
    uint64_t begin = skip < total ? skip : total, count = limit < total - begin ? limit : total - begin;
    ck_assert_uint_eq(page.total, total);
    ck_assert_uint_eq(page.count, count);
    for (uint64_t i = 0; i < count; i++)
        ck_assert_msg(page.row[i] == sorted[descending ? total - 1 - begin - i : begin + i],
                      "by %d, descending %d, skip %llu, limit %llu: row %llu", by, descending, (unsigned long long)skip,
                      (unsigned long long)limit, (unsigned long long)i);
    hs_rows__free(&page);
}

static void check_pages(const struct hs_filter *filter, uint32_t *row, uint64_t total, struct random_state *random)
{
    for (enum hs_row_key by = HS_ROW_BY_TIME; by <= HS_ROW_BY_LIFETIME; by++) {
        qsort_r(row, total, sizeof(*row), compare_slow, &by);
        for (unsigned descending = 0; descending < 2; descending++) {
            const uint64_t some = 1 + random_below(random, total + 1), few = 1 + random_below(random, 40);
            check_page(filter, by, descending, 0, few, row, total);
            check_page(filter, by, descending, random_below(random, total + 1), few, row, total);
            check_page(filter, by, descending, random_below(random, total + 1), some, row, total);
            check_page(filter, by, descending, total, 10, row, total);
            check_page(filter, by, descending, total > 5 ? total - 5 : 0, 10, row, total);
            check_page(filter, by, descending, total + 9, UINT64_MAX, row, total);
        }
        check_page(filter, by, false, 0, UINT64_MAX, row, total);
        check_page(filter, by, true, 0, 0, row, total);
    }
}

// How many rows are sorted at once does not change an answer: each limit makes other ways through the code likely.
START_TEST(pages_are_those_of_the_sorted_rows)
{
    static const struct hs_order_limits limits[] = {{1 << 20, 1 << 22, 0}, {64, 1000, 0}, {0, 8, 0}, {1000, 50, 0}};
    const struct hs_order_limits usual = hs_order_limits;
    struct random_state random = {test_seed(__func__)};
    open_trace(random_next(&random), 1000);
    uint32_t *row = malloc((rows + 1) * sizeof(*row));
    for (unsigned round = 0; round < 12; round++) {
        struct hs_filter filter;
        choose_filter(&filter, &random);
        hs_order_limits = limits[round % 4];
        check_pages(&filter, row, slow_rows(&filter, row), &random);
    }
    hs_order_limits = usual;
    free(row);
    hs_store__close(store);
}
END_TEST

// ---- rankings ------------------------------------------------------------------------------------------------------

static void check_ranked_page(const struct hs_ranking *ranking, const struct hs_row_set *set, const uint64_t *before,
                              bool descending, uint64_t skip, uint64_t limit, const uint32_t *sorted, uint64_t total)
{
    struct hs_rows page;
    struct hs_error error = {""};
    ck_assert_msg(!hs_ranking__rows(ranking, set, before, descending, skip, limit, &page, &error), "%s", error.message);
    uint64_t begin = skip < total ? skip : total, count = limit < total - begin ? limit : total - begin;
    ck_assert_uint_eq(page.total, total);
    ck_assert_uint_eq(page.count, count);
    for (uint64_t i = 0; i < count; i++)
        ck_assert_msg(page.row[i] == sorted[descending ? total - 1 - begin - i : begin + i],
                      "descending %d, skip %llu, limit %llu: row %llu", descending, (unsigned long long)skip,
                      (unsigned long long)limit, (unsigned long long)i);
    hs_rows__free(&page);
}

static void check_set_pages(const struct hs_filter *filter, const uint32_t *row, uint64_t total,
                            struct random_state *random)
{
    struct hs_row_set set;
    struct hs_rows page;
    ck_assert_int_eq(hs_row_set__make(&set, store, filter, NULL, NULL), 0);
    for (unsigned i = 0; i < 20; i++) {
        uint64_t skip = random_below(random, total + 2), limit = i < 4 ? UINT64_MAX : random_below(random, 200);
        uint64_t begin = skip < total ? skip : total, count = limit < total - begin ? limit : total - begin;
        ck_assert_int_eq(hs_row_set__rows(&set, i % 2, skip, limit, &page, NULL), 0);
        ck_assert_uint_eq(page.total, total);
        ck_assert_uint_eq(page.count, count);
        for (uint64_t k = 0; k < count; k++)
            ck_assert_uint_eq(page.row[k], row[i % 2 ? total - 1 - begin - k : begin + k]);
        hs_rows__free(&page);
    }
    hs_row_set__free(&set);
}

// Pages that are found from an end: with the set of what matches and without, and where too much is to be looked at.
static void check_near_page(const struct hs_near *page, const struct hs_ranking *ranking, const uint32_t *sorted)
{
    struct hs_rows rows_of;
    struct hs_error error = {""};
    uint64_t begin = page->skip < page->total ? page->skip : page->total;
    uint64_t count = page->limit < page->total - begin ? page->limit : page->total - begin;
    int result = hs_near__rows(page, ranking, &rows_of, &error);
    if (result == -E2BIG) {
        ck_assert_uint_lt(hs_near_limit, UINT64_MAX);
        return;
    }
    ck_assert_msg(!result, "%s", error.message);
    ck_assert_uint_eq(rows_of.total, page->total);
    ck_assert_uint_eq(rows_of.count, count);
    for (uint64_t i = 0; i < count; i++)
        ck_assert_msg(rows_of.row[i] == sorted[page->descending ? page->total - 1 - begin - i : begin + i],
                      "set %d, descending %d, skip %llu, limit %llu: row %llu", page->set != NULL, page->descending,
                      (unsigned long long)page->skip, (unsigned long long)page->limit, (unsigned long long)i);
    hs_rows__free(&rows_of);
}

static void check_near_pages(const struct hs_ranking *ranking, const struct hs_filter *filter,
                             const struct hs_row_set *set, const uint32_t *sorted, uint64_t total,
                             struct random_state *random)
{
    const uint64_t usual = hs_near_limit;
    for (unsigned i = 0; i < 24; i++) {
        struct hs_near page = {.store = store,
                               .filter = filter,
                               .set = i & 1 ? set : NULL,
                               .total = total,
                               .descending = i & 2,
                               .skip = i & 4 ? 0 : random_below(random, total + 2),
                               .limit = i < 4 ? UINT64_MAX : random_below(random, 40)};
        hs_near_limit = UINT64_MAX;
        check_near_page(&page, ranking, sorted);
        hs_near_limit = random_below(random, 16 * rows);
        check_near_page(&page, ranking, sorted);
    }
    hs_near_limit = usual;
}

static void check_within(const struct hs_ranking *ranking, struct random_state *random)
{
    const enum hs_row_key by = hs_ranking__by(ranking);
    const uint32_t some = (uint32_t)some_row(random), other = (uint32_t)some_row(random);
    const struct hs_bounds bounds = {slow_key(by, some), random_below(random, 4) ? slow_key(by, other) : UINT64_MAX};
    uint64_t count = 0;
    for (uint32_t row = 0; row < rows; row++)
        count += hs_kind_domain(hs_row__kind(columns, row)) == HS_DOMAIN_HEAP && slow_key(by, row) >= bounds.least &&
                 slow_key(by, row) <= bounds.most;
    ck_assert_uint_eq(hs_ranking__within(ranking, bounds), count);
}

static void check_ranking(enum hs_row_key by, const struct hs_filter *filter, uint32_t *row, uint64_t total,
                          struct random_state *random)
{
    struct hs_ranking *ranking;
    struct hs_row_set set = {0};
    struct hs_error error = {""};
    uint64_t *before = NULL;
    ck_assert_msg(!hs_ranking__make(&ranking, store, by, NULL, &error), "%s", error.message);
    if (filter) {
        ck_assert_msg(!hs_row_set__make(&set, store, filter, NULL, &error), "%s", error.message);
        ck_assert_uint_eq(set.count, total);
        ck_assert_msg(!hs_ranking__count(ranking, &set, NULL, &before, &error), "%s", error.message);
    }
    qsort_r(row, total, sizeof(*row), compare_slow, &by);
    for (unsigned i = 0; i < 20; i++) {
        const uint64_t skip = random_below(random, total + 1), few = 1 + random_below(random, 40);
        check_ranked_page(ranking, filter ? &set : NULL, before, i % 2, skip, few, row, total);
    }
    check_ranked_page(ranking, filter ? &set : NULL, before, false, 0, 10, row, total);
    check_ranked_page(ranking, filter ? &set : NULL, before, true, 0, 10, row, total);
    check_ranked_page(ranking, filter ? &set : NULL, before, true, total > 5 ? total - 5 : 0, 10, row, total);
    check_ranked_page(ranking, filter ? &set : NULL, before, false, total, 10, row, total);
    check_ranked_page(ranking, filter ? &set : NULL, before, true, total + 9, UINT64_MAX, row, total);
    check_ranked_page(ranking, filter ? &set : NULL, before, false, 0, UINT64_MAX, row, total);
    if (filter)
        check_near_pages(ranking, filter, &set, row, total, random);
    check_within(ranking, random);
    free(before);
    hs_row_set__free(&set);
    hs_ranking__destroy(ranking);
}

START_TEST(rankings_are_the_sorted_rows)
{
    static const struct hs_ranking_limits limits[] = {{16384, 1 << 25}, {64, 1 << 25}, {1000, 3000}, {1, 5000}};
    const struct hs_ranking_limits usual = hs_ranking_limits;
    struct random_state random = {test_seed(__func__)};
    open_trace(random_next(&random), 1000);
    uint32_t *row = malloc((rows + 1) * sizeof(*row));
    for (unsigned round = 0; round < 8; round++) {
        struct hs_filter filter;
        if (round < 4)
            hs_filter__init(&filter);
        else
            choose_filter(&filter, &random);
        uint64_t total = slow_rows(&filter, row);
        check_set_pages(&filter, row, total, &random);
        check_near_pages(NULL, &filter, NULL, row, total, &random);
        hs_ranking_limits = limits[round % 4];
        for (enum hs_row_key by = HS_ROW_BY_ADDRESS; by <= HS_ROW_BY_LIFETIME; by++)
            check_ranking(by, round < 4 ? NULL : &filter, row, total, &random);
    }
    hs_ranking_limits = usual;
    free(row);
    hs_store__close(store);
}
END_TEST

// ---- over time ------------------------------------------------------------------------------------------------------

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

static void check_peak(const struct hs_filter *filter, const struct happening *happening, size_t count)
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
    ck_assert_int_eq(hs_query__peak(store, filter, NULL, &peak, &peak_time, NULL), 0);
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

static void check_timeline(const struct hs_filter *filter, const struct happening *happening, size_t count,
                           struct random_state *random)
{
    struct hs_timeline timeline;
    uint64_t from = random_below(random, 2) ? 0 : random_below(random, end_time);
    uint64_t to = random_below(random, 2) ? end_time : from + random_below(random, end_time);
    size_t points = 1 + random_below(random, 60);
    ck_assert_int_eq(hs_query__timeline(store, filter, from, to, points, NULL, &timeline, NULL), 0);
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
    for (unsigned round = 0; round < 10; round++) {
        struct hs_filter filter;
        choose_filter(&filter, random);
        size_t count = slow_history(row, slow_rows(&filter, row), happening);
        check_peak(&filter, happening, count);
        check_timeline(&filter, happening, count, random);
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

// A part of the whole heap's timeline comes from the pyramid: the begin is rounded down, the values are exact.
START_TEST(parts_of_the_pyramid_are_exact)
{
    struct random_state random = {test_seed(__func__)};
    struct hs_filter all;
    hs_order_limits.exact = 0;
    hs_filter__init(&all);
    open_trace(random_next(&random), 1);
    for (unsigned round = 0; round < 20; round++) {
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

// ---- sums -----------------------------------------------------------------------------------------------------------

static void add_slowly(struct hs_total *total, uint32_t row)
{
    uint64_t size = hs_row__size(columns, row), usable = size + hs_row__slack(columns, row);
    uint64_t freed = hs_row__free_time(columns, row);
    total->allocated_bytes += size;
    total->allocated_usable += usable;
    total->allocated_count++;
    total->live_bytes += freed == HS_NEVER ? size : 0;
    total->live_usable += freed == HS_NEVER ? usable : 0;
    total->live_count += freed == HS_NEVER;
    total->peak_count += (hs_row__flags(columns, row) & HS_ROW_AT_PEAK) != 0;
    total->lifetime_sum += freed == HS_NEVER ? 0 : freed - hs_row__time(columns, row);
    total->size_max = size > total->size_max ? size : total->size_max;
}

static void check_total(const struct hs_total *found, const struct hs_total *expected)
{
    ck_assert_uint_eq(found->allocated_bytes, expected->allocated_bytes);
    ck_assert_uint_eq(found->allocated_usable, expected->allocated_usable);
    ck_assert_uint_eq(found->allocated_count, expected->allocated_count);
    ck_assert_uint_eq(found->live_bytes, expected->live_bytes);
    ck_assert_uint_eq(found->live_usable, expected->live_usable);
    ck_assert_uint_eq(found->live_count, expected->live_count);
    ck_assert_uint_eq(found->peak_count, expected->peak_count);
    ck_assert_uint_eq(found->lifetime_sum, expected->lifetime_sum);
    ck_assert_uint_eq(found->size_max, expected->size_max);
}

// What the recorder only summed up is part of the answer as long as nothing but stacks is asked for.
static void add_culled(const struct hs_filter *filter, struct hs_total *expected, struct hs_total *sum)
{
    size_t count;
    const struct hs_culled *culled = hs_store__culled(store, &count);
    for (size_t i = 0; i < count && hs_filter__asks_only_stacks(filter); i++) {
        if (filter->stacks.words && !hs_set__has(&filter->stacks, culled[i].stack))
            continue;
        if (!(filter->domains >> culled[i].domain & 1))
            continue;
        struct hs_total *totals[] = {&expected[culled[i].stack], sum};
        for (unsigned k = 0; k < 2; k++) {
            totals[k]->allocated_bytes += culled[i].size;
            totals[k]->allocated_usable += culled[i].usable;
            totals[k]->allocated_count += culled[i].count;
            totals[k]->lifetime_sum += culled[i].lifetime_ns;
        }
    }
}

static void check_totals(const struct hs_filter *filter, const struct hs_query_control *control, const uint32_t *row,
                         uint64_t count)
{
    size_t stacks, seen = 0;
    struct hs_totals totals;
    hs_store__nodes(store, &stacks);
    struct hs_total *expected = calloc(stacks + 1, sizeof(*expected)), sum = {0};
    for (uint64_t i = 0; i < count; i++) {
        add_slowly(&expected[hs_row__stack(columns, row[i])], row[i]);
        add_slowly(&sum, row[i]);
    }
    add_culled(filter, expected, &sum);
    ck_assert_int_eq(hs_query__totals(store, filter, control, &totals, NULL), 0);
    for (size_t stack = 0; stack < stacks; stack++) {
        if (!expected[stack].allocated_count)
            continue;
        ck_assert_uint_lt(seen, totals.count);
        ck_assert_uint_eq(totals.total[seen].stack, stack);
        check_total(&totals.total[seen++], &expected[stack]);
    }
    ck_assert_uint_eq(seen, totals.count);
    check_total(&totals.sum, &sum);
    hs_totals__free(&totals);
    free(expected);
}

static unsigned bucket_of(uint64_t value)
{
    unsigned bucket = 0;
    for (; value; value /= 2)
        bucket++;
    return bucket;
}

static void check_histogram(const struct hs_filter *filter, const uint32_t *row, uint64_t count)
{
    struct hs_histogram sizes, lifetimes, expected = {0}, expected_lifetimes = {0};
    for (uint64_t i = 0; i < count; i++) {
        uint64_t size = hs_row__size(columns, row[i]);
        expected.count[bucket_of(size)]++;
        expected.bytes[bucket_of(size)] += size;
        expected_lifetimes.count[bucket_of(slow_key(HS_ROW_BY_LIFETIME, row[i]))]++;
        expected_lifetimes.bytes[bucket_of(slow_key(HS_ROW_BY_LIFETIME, row[i]))] += size;
    }
    ck_assert_int_eq(hs_query__size_histogram(store, filter, NULL, &sizes, NULL), 0);
    ck_assert_int_eq(hs_query__lifetime_histogram(store, filter, NULL, &lifetimes, NULL), 0);
    ck_assert_mem_eq(&sizes, &expected, sizeof(expected));
    ck_assert_mem_eq(&lifetimes, &expected_lifetimes, sizeof(expected_lifetimes));
}

struct visiting {
    const uint32_t *row;
    uint64_t at;
};

static int visit(void *context, const struct hs_store *of, uint64_t row)
{
    struct visiting *visiting = context;
    ck_assert_ptr_eq(of, store);
    ck_assert_uint_eq(row, visiting->row[visiting->at++]);
    return 0;
}

START_TEST(sums_are_those_of_all_rows)
{
    struct random_state random = {test_seed(__func__)};
    open_trace(random_next(&random), 100);
    uint32_t *row = malloc((rows + 1) * sizeof(*row));
    for (unsigned round = 0; round < 25; round++) {
        struct hs_filter filter;
        choose_filter(&filter, &random);
        uint64_t count = slow_rows(&filter, row), counted;
        struct visiting visiting = {row, 0};
        ck_assert_int_eq(hs_query__count(store, &filter, NULL, &counted, NULL), 0);
        ck_assert_uint_eq(counted, count);
        ck_assert_int_eq(hs_query__each(store, &filter, NULL, visit, &visiting, NULL), 0);
        ck_assert_uint_eq(visiting.at, count);
        check_totals(&filter, NULL, row, count);
        check_histogram(&filter, row, count);
    }
    free(row);
    hs_store__close(store);
}
END_TEST

// What cells know, alone and together.
static void choose_known_filter(struct hs_filter *filter, struct random_state *random)
{
    static const unsigned known[] = {0, 2, 3, 9, 10, 11, 13};
    hs_filter__init(filter);
    filter->domains = 1 + (uint32_t)random_below(random, 7);
    if (random_below(random, 4) == 0)
        filter->kinds = (uint32_t)random_below(random, 1u << HS_KIND_COUNT);
    for (uint64_t n = random_below(random, 4); n; n--)
        add_this_condition(filter, random, known[random_below(random, sizeof(known) / sizeof(*known))]);
}

static void check_counted_totals(const struct hs_filter *filter, const struct hs_query_control *control, uint32_t *row)
{
    uint64_t count = slow_rows(filter, row), counted;
    ck_assert_int_eq(hs_query__count(store, filter, control, &counted, NULL), 0);
    ck_assert_uint_eq(counted, count);
    check_totals(filter, control, row, count);
}

static void choose_filter_of_lifetimes(struct hs_filter *filter, struct random_state *random)
{
    static const unsigned known[] = {2, 3, 9, 10, 11, 13};
    uint64_t some = slow_key(HS_ROW_BY_LIFETIME, (uint32_t)some_row(random));
    uint64_t other = slow_key(HS_ROW_BY_LIFETIME, (uint32_t)some_row(random));
    hs_filter__init(filter);
    for (uint64_t n = random_below(random, 3); n; n--)
        add_this_condition(filter, random, known[random_below(random, sizeof(known) / sizeof(*known))]);
    filter->lifetime_min = random_below(random, 4) ? 1 + some : 0;
    filter->lifetime_max = filter->lifetime_min && random_below(random, 2) ? UINT64_MAX : some + other;
}

START_TEST(sums_of_cells_are_those_of_all_rows)
{
    const struct hs_cells_limits usual = hs_cells_limits;
    struct random_state random = {test_seed(__func__)};
    struct hs_cells *cells;
    struct hs_ranking *lifetimes;
    open_trace(random_next(&random), 100);
    ck_assert_int_eq(hs_ranking__make(&lifetimes, store, HS_ROW_BY_LIFETIME, NULL, NULL), 0);
    struct hs_query_control control = {.lifetimes = lifetimes};
    uint32_t *row = malloc((rows + 1) * sizeof(*row));
    for (unsigned round = 0; round < 40; round++) {
        struct hs_filter filter;
        const bool classed = round % 4;
        hs_cells_limits = (struct hs_cells_limits){round % 2 + 1, 1, classed ? (uint64_t)1 << 20 : 100};
        ck_assert_int_eq(hs_cells__make(&cells, store, NULL, NULL), 0);
        choose_known_filter(&filter, &random);
        ck_assert(hs_cells__know(cells, store, &filter));
        control.cells = cells;
        check_counted_totals(&filter, &control, row);
        // With classes of lifetimes, unless there were too many.
        choose_filter_of_lifetimes(&filter, &random);
        ck_assert_int_eq(hs_cells__know_lifetimes(cells, lifetimes, store, &filter), classed);
        check_counted_totals(&filter, &control, row);
        // Others are not answered from cells.
        choose_filter(&filter, &random);
        check_counted_totals(&filter, &control, row);
        hs_cells__destroy(cells);
    }
    hs_cells_limits = (struct hs_cells_limits){1, 1u << 20, 1};
    ck_assert_int_eq(hs_cells__make(&cells, store, NULL, NULL), -E2BIG);
    hs_cells_limits = usual;
    hs_ranking__destroy(lifetimes);
    free(row);
    hs_store__close(store);
}
END_TEST

// The most of each stack is the peak of that stack alone.
START_TEST(stack_peaks_are_the_peaks_of_the_stacks)
{
    struct random_state random = {test_seed(__func__)};
    struct hs_stack_peaks peaks;
    open_trace(random_next(&random), 1000);
    ck_assert_int_eq(hs_query__stack_peaks(store, NULL, &peaks, NULL), 0);
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
        ck_assert_uint_eq(peaks.peak[stack].bytes, peak.bytes);
        if (peak.bytes)
            ck_assert_uint_eq(peaks.peak[stack].time, time);
    }
    hs_stack_peaks__free(&peaks);
    hs_store__close(store);
}
END_TEST

// ---- cancelled ------------------------------------------------------------------------------------------------------

START_TEST(every_question_can_be_cancelled)
{
    struct random_state random = {test_seed(__func__)};
    const int cancel = 1;
    const struct hs_query_control control = {.cancel = &cancel};
    struct hs_filter filter;
    struct hs_totals totals;
    struct hs_rows page;
    struct hs_timeline timeline;
    struct hs_live_total peak;
    struct hs_stack_peaks peaks;
    struct hs_histogram histogram;
    struct hs_ranking *ranking;
    struct hs_row_set set;
    struct hs_cells *cells;
    uint64_t number;
    open_trace(random_next(&random), 1);
    hs_filter__init(&filter);
    filter.size_min = 2;
    ck_assert_int_eq(hs_query__totals(store, &filter, &control, &totals, NULL), -ECANCELED);
    ck_assert_int_eq(hs_query__rows(store, &filter, HS_ROW_BY_SIZE, true, 0, 10, &control, &page, NULL), -ECANCELED);
    ck_assert_int_eq(hs_query__timeline(store, &filter, 0, end_time, 10, &control, &timeline, NULL), -ECANCELED);
    ck_assert_int_eq(hs_query__peak(store, &filter, &control, &peak, &number, NULL), -ECANCELED);
    ck_assert_int_eq(hs_query__stack_peaks(store, &control, &peaks, NULL), -ECANCELED);
    ck_assert_int_eq(hs_query__count(store, &filter, &control, &number, NULL), -ECANCELED);
    ck_assert_int_eq(hs_query__size_histogram(store, &filter, &control, &histogram, NULL), -ECANCELED);
    ck_assert_int_eq(hs_query__each(store, &filter, &control, visit, NULL, NULL), -ECANCELED);
    ck_assert_int_eq(hs_ranking__make(&ranking, store, HS_ROW_BY_SIZE, &control, NULL), -ECANCELED);
    ck_assert_int_eq(hs_row_set__make(&set, store, &filter, &control, NULL), -ECANCELED);
    ck_assert_int_eq(hs_cells__make(&cells, store, &control, NULL), -ECANCELED);
    hs_store__close(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("questions");
    TCase *cases = tcase_create("questions");
    tcase_set_timeout(cases, 600);
    tcase_add_test(cases, pages_are_those_of_the_sorted_rows);
    tcase_add_test(cases, rankings_are_the_sorted_rows);
    tcase_add_test(cases, peaks_and_timelines_are_those_of_what_happened);
    tcase_add_test(cases, parts_of_the_pyramid_are_exact);
    tcase_add_test(cases, sums_are_those_of_all_rows);
    tcase_add_test(cases, sums_of_cells_are_those_of_all_rows);
    tcase_add_test(cases, stack_peaks_are_the_peaks_of_the_stacks);
    tcase_add_test(cases, every_question_can_be_cancelled);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
