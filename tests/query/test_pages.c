// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Pages of sorted lists, against all rows that match, sorted.
#include "host/query/order.h"
#include "host/query/page_scan.h"
#include "host/query/sorted_index.h"
#include "tests/format/check_random.h"
#include "tests/query/random_store.h"
#include "tests/rounds.h"
#include "tests/suite.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>

static int compare_slow(const void *left, const void *right, void *by)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    uint64_t x = slow_key(*(enum hs_row_key *)by, a), y = slow_key(*(enum hs_row_key *)by, b);
    return x != y ? (x > y) - (x < y) : (a > b) - (a < b);
}

static void check_rows(struct hs_rows *page, bool descending, uint64_t skip, uint64_t limit, const uint32_t *sorted,
                       uint64_t total)
{
    uint64_t begin = skip < total ? skip : total, count = limit < total - begin ? limit : total - begin;
    ck_assert_uint_eq(page->total, total);
    ck_assert_uint_eq(page->count, count);
    for (uint64_t i = 0; i < count; i++)
        ck_assert_msg(page->row[i] == sorted[descending ? total - 1 - begin - i : begin + i],
                      "descending %d, skip %llu, limit %llu: row %llu", descending, (unsigned long long)skip,
                      (unsigned long long)limit, (unsigned long long)i);
    hs_rows__free(page);
}

static void check_page(const struct hs_filter *filter, enum hs_row_key by, bool descending, uint64_t skip,
                       uint64_t limit, const uint32_t *sorted, uint64_t total)
{
    struct hs_rows page;
    struct hs_error error = {""};
    ck_assert_msg(!hs_query__rows(store, filter, by, descending, skip, limit, NULL, &page, &error), "%s",
                  error.message);
    check_rows(&page, descending, skip, limit, sorted, total);
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
    for (unsigned round = 0; round < test_rounds(12); round++) {
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

// ---- sorted indexes
// ------------------------------------------------------------------------------------------------------

static void check_sorted_page(const struct hs_sorted_index *sorted_index, const struct hs_row_set *set,
                              const uint64_t *before, bool descending, uint64_t skip, uint64_t limit,
                              const uint32_t *sorted, uint64_t total)
{
    struct hs_rows page;
    struct hs_error error = {""};
    ck_assert_msg(!hs_sorted_index__rows(sorted_index, set, before, descending, skip, limit, &page, &error), "%s",
                  error.message);
    check_rows(&page, descending, skip, limit, sorted, total);
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
static void check_page_scan(const struct hs_page_scan *page, const struct hs_sorted_index *sorted_index,
                            const uint32_t *sorted)
{
    struct hs_rows rows_of;
    struct hs_error error = {""};
    uint64_t begin = page->skip < page->total ? page->skip : page->total;
    uint64_t count = page->limit < page->total - begin ? page->limit : page->total - begin;
    int result = hs_page_scan__rows(page, sorted_index, &rows_of, &error);
    if (result == -E2BIG) {
        ck_assert_uint_lt(hs_page_scan_limit, UINT64_MAX);
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

static void check_page_scans(const struct hs_sorted_index *sorted_index, const struct hs_filter *filter,
                             const struct hs_row_set *set, const uint32_t *sorted, uint64_t total,
                             struct random_state *random)
{
    const uint64_t usual = hs_page_scan_limit;
    for (unsigned i = 0; i < 24; i++) {
        struct hs_page_scan page = {.store = store,
                                    .filter = filter,
                                    .set = i & 1 ? set : NULL,
                                    .total = total,
                                    .descending = i & 2,
                                    .skip = i & 4 ? 0 : random_below(random, total + 2),
                                    .limit = i < 4 ? UINT64_MAX : random_below(random, 40)};
        hs_page_scan_limit = UINT64_MAX;
        check_page_scan(&page, sorted_index, sorted);
        hs_page_scan_limit = random_below(random, 16 * rows);
        check_page_scan(&page, sorted_index, sorted);
    }
    hs_page_scan_limit = usual;
}

// What codes know of filters is asked of the rank counts.
static void check_rank_counts_pages(const struct hs_sorted_index *sorted_index, const struct hs_dictionary *dictionary,
                                    const struct hs_filter *filter, const uint32_t *sorted, uint64_t total,
                                    struct random_state *random)
{
    const struct hs_rank_counts_limits usual = hs_rank_counts_limits;
    struct hs_rank_counts *rank_counts;
    struct hs_error error = {""};
    hs_rank_counts_limits = (struct hs_rank_counts_limits){1000 + random_below(random, 20000), UINT32_MAX};
    ck_assert_msg(!hs_rank_counts__make(&rank_counts, sorted_index, dictionary, NULL, &error), "%s", error.message);
    ck_assert_uint_eq(hs_dictionary__count(dictionary, filter), total);
    for (unsigned i = 0; i < 40; i++) {
        const struct hs_page_scan page = {.store = store,
                                          .filter = filter,
                                          .rank_counts = rank_counts,
                                          .total = total,
                                          .descending = i & 2,
                                          .skip = i & 4 ? 0 : random_below(random, total + 2),
                                          .limit = i < 2 ? UINT64_MAX : random_below(random, 40)};
        check_page_scan(&page, sorted_index, sorted);
    }
    hs_rank_counts__destroy(rank_counts);
    hs_rank_counts_limits.numbers = dictionary->count;
    ck_assert_int_eq(hs_rank_counts__make(&rank_counts, sorted_index, dictionary, NULL, NULL), -E2BIG);
    hs_rank_counts_limits = usual;
}

static void check_sorted_pages(enum hs_row_key by, const struct hs_filter *filter, const uint32_t *sorted,
                               uint64_t total, struct random_state *random)
{
    struct hs_keyed_row *all;
    struct hs_rows page;
    size_t count;
    ck_assert_int_eq(hs_order__extreme(store, filter, by, false, total, NULL, &all, &count, NULL), 0);
    ck_assert_uint_eq(count, total);
    for (unsigned i = 0; i < 10; i++) {
        const uint64_t skip = random_below(random, total + 3), few = i % 3 ? random_below(random, 40) : UINT64_MAX;
        ck_assert_int_eq(hs_keyed_rows__page(all, total, i % 2, skip, few, &page, NULL), 0);
        check_rows(&page, i % 2, skip, few, sorted, total);
    }
    free(all);
}

static void check_within(const struct hs_sorted_index *sorted_index, struct random_state *random)
{
    const enum hs_row_key by = hs_sorted_index__by(sorted_index);
    const uint32_t some = (uint32_t)some_row(random), other = (uint32_t)some_row(random);
    const struct hs_bounds bounds = {slow_key(by, some), random_below(random, 4) ? slow_key(by, other) : UINT64_MAX};
    uint64_t count = 0;
    for (uint32_t row = 0; row < rows; row++)
        count += hs_kind_domain(hs_row__kind(columns, row)) == HS_DOMAIN_HEAP && slow_key(by, row) >= bounds.least &&
                 slow_key(by, row) <= bounds.most;
    ck_assert_uint_eq(hs_sorted_index__within(sorted_index, bounds), count);
}

static void check_sorted_index(enum hs_row_key by, const struct hs_filter *filter,
                               const struct hs_dictionary *dictionary, uint32_t *row, uint64_t total,
                               struct random_state *random)
{
    struct hs_sorted_index *sorted_index;
    struct hs_row_set set = {0};
    struct hs_error error = {""};
    uint64_t *before = NULL;
    ck_assert_msg(!hs_sorted_index__make(&sorted_index, store, by, NULL, &error), "%s", error.message);
    if (filter) {
        ck_assert_msg(!hs_row_set__make(&set, store, filter, NULL, &error), "%s", error.message);
        ck_assert_uint_eq(set.count, total);
        ck_assert_msg(!hs_sorted_index__count(sorted_index, &set, NULL, &before, &error), "%s", error.message);
    }
    qsort_r(row, total, sizeof(*row), compare_slow, &by);
    for (unsigned i = 0; i < 20; i++) {
        const uint64_t skip = random_below(random, total + 1), few = 1 + random_below(random, 40);
        check_sorted_page(sorted_index, filter ? &set : NULL, before, i % 2, skip, few, row, total);
    }
    check_sorted_page(sorted_index, filter ? &set : NULL, before, false, 0, 10, row, total);
    check_sorted_page(sorted_index, filter ? &set : NULL, before, true, 0, 10, row, total);
    check_sorted_page(sorted_index, filter ? &set : NULL, before, true, total > 5 ? total - 5 : 0, 10, row, total);
    check_sorted_page(sorted_index, filter ? &set : NULL, before, false, total, 10, row, total);
    check_sorted_page(sorted_index, filter ? &set : NULL, before, true, total + 9, UINT64_MAX, row, total);
    check_sorted_page(sorted_index, filter ? &set : NULL, before, false, 0, UINT64_MAX, row, total);
    if (filter) {
        check_page_scans(sorted_index, filter, &set, row, total, random);
        check_sorted_pages(by, filter, row, total, random);
    }
    if (filter && hs_dictionary__knows(dictionary, store, filter))
        check_rank_counts_pages(sorted_index, dictionary, filter, row, total, random);
    check_within(sorted_index, random);
    free(before);
    hs_row_set__free(&set);
    hs_sorted_index__destroy(sorted_index);
}

static void choose_known_filter(struct hs_filter *filter, struct random_state *random)
{
    static const unsigned conditions[] = {2, 3, 9, 10, 11, 13};
    hs_filter__init(filter);
    for (uint64_t n = 1 + random_below(random, 2); n; n--)
        add_this_condition(filter, random, conditions[random_below(random, 6)]);
}

START_TEST(sorted_indexes_are_the_sorted_rows)
{
    static const struct hs_sorted_index_limits limits[] = {{16384, 1 << 25}, {64, 1 << 25}, {1000, 3000}, {1, 5000}};
    const struct hs_sorted_index_limits usual = hs_sorted_index_limits;
    const struct hs_dictionary_limits usual_dictionary = hs_dictionary_limits;
    struct random_state random = {test_seed(__func__)};
    struct hs_dictionary *dictionary;
    open_trace(random_next(&random), 1000);
    uint32_t *row = malloc((rows + 1) * sizeof(*row));
    hs_dictionary_limits = (struct hs_dictionary_limits){1, UINT32_MAX - 1};
    ck_assert_int_eq(hs_dictionary__make(&dictionary, store, NULL, NULL), 0);
    for (unsigned round = 0; round < test_rounds(12); round++) {
        struct hs_filter filter;
        const bool all = round % 3 == 0;
        if (all)
            hs_filter__init(&filter);
        else if (round % 3 == 1)
            choose_filter(&filter, &random);
        else
            choose_known_filter(&filter, &random);
        uint64_t total = slow_rows(&filter, row);
        check_set_pages(&filter, row, total, &random);
        check_page_scans(NULL, &filter, NULL, row, total, &random);
        hs_sorted_index_limits = limits[round % 4];
        for (enum hs_row_key by = HS_ROW_BY_ADDRESS; by <= HS_ROW_BY_LIFETIME; by++)
            check_sorted_index(by, all ? NULL : &filter, dictionary, row, total, &random);
    }
    hs_sorted_index_limits = usual;
    hs_dictionary_limits = usual_dictionary;
    hs_dictionary__destroy(dictionary);
    free(row);
    hs_store__close(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pages");
    TCase *cases = tcase_create("pages");
    tcase_add_test(cases, pages_are_those_of_the_sorted_rows);
    tcase_add_test(cases, sorted_indexes_are_the_sorted_rows);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
