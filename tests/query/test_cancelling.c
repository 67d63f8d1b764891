// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Questions that are cancelled.
#include "host/query/rollups.h"
#include "host/query/sorted_index.h"
#include "tests/format/check_random.h"
#include "tests/query/random_store.h"
#include "tests/suite.h"

#include <check.h>
#include <errno.h>

static int stop_here(void *context, const struct hs_store *of, uint64_t row)
{
    (void)context;
    (void)of;
    (void)row;
    return 1;
}

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
    struct hs_sorted_index *sorted_index;
    struct hs_row_set set;
    struct hs_rollups *rollups;
    uint64_t number;
    open_trace(random_next(&random), 1);
    hs_filter__init(&filter);
    filter.size_min = 2;
    ck_assert_int_eq(hs_query__totals(store, &filter, &control, &totals, NULL), -ECANCELED);
    ck_assert_int_eq(hs_query__rows(store, &filter, HS_ROW_BY_SIZE, true, 0, 10, &control, &page, NULL), -ECANCELED);
    ck_assert_int_eq(hs_query__timeline(store, &filter, 0, end_time, 10, &control, &timeline, NULL), -ECANCELED);
    ck_assert_int_eq(hs_query__peak(store, &filter, &control, &peak, &number, NULL), -ECANCELED);
    ck_assert_int_eq(hs_query__count(store, &filter, &control, &number, NULL), -ECANCELED);
    ck_assert_int_eq(hs_query__each(store, &filter, &control, stop_here, NULL, NULL), -ECANCELED);
    ck_assert_int_eq(hs_sorted_index__make(&sorted_index, store, HS_ROW_BY_SIZE, &control, NULL), -ECANCELED);
    ck_assert_int_eq(hs_row_set__make(&set, store, &filter, &control, NULL), -ECANCELED);
    ck_assert_int_eq(hs_rollups__make(&rollups, store, &control, NULL), -ECANCELED);
    hs_store__close(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cancelling");
    TCase *cases = tcase_create("cancelling");
    tcase_add_test(cases, every_question_can_be_cancelled);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
