// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Totals and counts, against sums of one row after another.
#include "host/query/planner.h"
#include "host/query/scan.h"
#include "host/query/stack_totals_column.h"
#include "tests/format/check_random.h"
#include "tests/query/random_store.h"
#include "tests/rounds.h"
#include "tests/suite.h"

#include <check.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

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

struct comparing {
    const struct hs_totals *totals;
    size_t at;
};

static int compare_total(void *context, const struct hs_total *total)
{
    struct comparing *comparing = context;
    ck_assert_uint_lt(comparing->at, comparing->totals->count);
    ck_assert_mem_eq(total, &comparing->totals->total[comparing->at++], sizeof(*total));
    return 0;
}

static int compare_values(void *context, uint32_t stack, uint64_t bytes, uint64_t count)
{
    struct comparing *comparing = context;
    ck_assert_uint_lt(comparing->at, comparing->totals->count);
    const struct hs_total *total = &comparing->totals->total[comparing->at++];
    ck_assert_uint_eq(stack, total->stack);
    ck_assert_uint_eq(bytes, total->live_bytes);
    ck_assert_uint_eq(count, total->peak_count);
    return 0;
}

// A table says the same as totals do.
static void check_table(const struct hs_filter *filter, const struct hs_query_control *control,
                        const struct hs_totals *totals, size_t stacks)
{
    struct hs_packed table = {0};
    struct comparing all = {totals, 0}, values = {totals, 0};
    struct hs_total total;
    const struct hs_set any = {0};
    size_t found = 0;
    const struct hs_plan plan = hs_planner__choose(control, store, filter, HS_ASKED_TOTALS);
    ck_assert_int_eq(hs_query__stack_totals_column(store, filter, control, &plan, &table, NULL), 0);
    ck_assert_uint_eq(hs_stack_totals_column__count(&table), totals->count);
    ck_assert_int_eq(hs_stack_totals_column__each_total(&table, &any, compare_total, &all), 0);
    ck_assert_int_eq(
        hs_stack_totals_column__each(&table, &any, HS_TOTAL_LIVE_BYTES, HS_TOTAL_PEAK_COUNT, compare_values, &values),
        0);
    ck_assert_uint_eq(all.at, totals->count);
    ck_assert_uint_eq(values.at, totals->count);
    for (uint32_t stack = 0; stack < stacks; stack++) {
        if (!hs_stack_totals_column__find(&table, stack, &total))
            continue;
        ck_assert_mem_eq(&total, &totals->total[found++], sizeof(total));
        ck_assert_uint_eq(total.stack, stack);
    }
    ck_assert_uint_eq(found, totals->count);
    hs_packed__close(&table);
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
    // Who keeps it keeps no more than that.
    ck_assert_uint_lt(malloc_usable_size(totals.total), totals.count * sizeof(*totals.total) + (512u << 10));
    for (size_t stack = 0; stack < stacks; stack++) {
        if (!expected[stack].allocated_count)
            continue;
        ck_assert_uint_lt(seen, totals.count);
        ck_assert_uint_eq(totals.total[seen].stack, stack);
        check_total(&totals.total[seen++], &expected[stack]);
    }
    ck_assert_uint_eq(seen, totals.count);
    check_total(&totals.sum, &sum);
    check_table(filter, control, &totals, stacks);
    hs_totals__free(&totals);
    free(expected);
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
    for (unsigned round = 0; round < test_rounds(25); round++) {
        struct hs_filter filter;
        choose_filter(&filter, &random);
        uint64_t count = slow_rows(&filter, row), counted;
        struct visiting visiting = {row, 0};
        ck_assert_int_eq(hs_query__count(store, &filter, NULL, &counted, NULL), 0);
        ck_assert_uint_eq(counted, count);
        ck_assert_int_eq(hs_query__each(store, &filter, NULL, visit, &visiting, NULL), 0);
        ck_assert_uint_eq(visiting.at, count);
        check_totals(&filter, NULL, row, count);
    }
    free(row);
    hs_store__close(store);
}
END_TEST

// What rollups know, alone and together.
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

START_TEST(sums_of_rollups_are_those_of_all_rows)
{
    const struct hs_rollups_limits usual = hs_rollups_limits;
    struct random_state random = {test_seed(__func__)};
    struct hs_rollups *rollups;
    struct hs_sorted_index *lifetimes;
    open_trace(random_next(&random), 100);
    ck_assert_int_eq(hs_sorted_index__make(&lifetimes, store, HS_ROW_BY_LIFETIME, NULL, NULL), 0);
    struct hs_indexes indexes = {.store = store, .sorted_index[HS_ROW_BY_LIFETIME] = lifetimes};
    const struct hs_query_control control = {.indexes = &indexes};
    uint32_t *row = malloc((rows + 1) * sizeof(*row));
    for (unsigned round = 0; round < test_rounds(40); round++) {
        struct hs_filter filter;
        const bool classed = round % 4;
        const bool by_streams = round % 3;
        const uint64_t streams = random_next(&random);
        hs_rollups_limits = (struct hs_rollups_limits){round % 2 + 1, 1, classed ? (uint64_t)1 << 20 : 100,
                                                       by_streams ? (size_t)1 << 30 : 0};
        ck_assert_int_eq(hs_rollups__make(&rollups, store, NULL, NULL), 0);
        choose_known_filter(&filter, &random);
        ck_assert(hs_rollups__know(rollups, store, &filter));
        if (random_below(&random, 2))
            filter.streams = (struct hs_set){&streams, 64};
        ck_assert(hs_rollups__know(rollups, store, &filter) == (by_streams || !filter.streams.words));
        indexes.rollups = rollups;
        check_counted_totals(&filter, &control, row);
        // With classes of lifetimes, unless there were too many.
        choose_filter_of_lifetimes(&filter, &random);
        ck_assert_int_eq(hs_rollups__know_lifetimes(rollups, lifetimes, store, &filter), classed);
        check_counted_totals(&filter, &control, row);
        // Others are not answered from rollups.
        choose_filter(&filter, &random);
        check_counted_totals(&filter, &control, row);
        hs_rollups__destroy(rollups);
    }
    hs_rollups_limits = (struct hs_rollups_limits){1, 1u << 20, 1, (size_t)1 << 30};
    ck_assert_int_eq(hs_rollups__make(&rollups, store, NULL, NULL), -E2BIG);
    hs_rollups_limits = usual;
    hs_sorted_index__destroy(lifetimes);
    free(row);
    hs_store__close(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sums");
    TCase *cases = tcase_create("sums");
    tcase_add_test(cases, sums_are_those_of_all_rows);
    tcase_add_test(cases, sums_of_rollups_are_those_of_all_rows);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
