// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What top makes of successive answers.
#include "command.h"

#include "host/cli/top_model.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct hs_top_model model;

static void close_model(void)
{
    hs_top_model__free(&model);
}

static int take(uint64_t seconds, const char *rows, const char *sum)
{
    char *text = NULL;
    ck_assert_int_gt(asprintf(&text, "{\"by\":\"requester\",\"sum\":{%s},\"rows\":[%s]}", sum, rows), 0);
    const int result = hs_top_model__take(&model, text, seconds * 1000000000u);
    free(text);
    return result;
}

#define ROW(name, live, all)                                                                                           \
    "{\"key\":\"" name "\",\"library\":\"lib.so\",\"line\":0,\"self\":{\"live\":[" live "],\"allocated\":[" all "]}}"
#define SUM(live, all) "\"live\":[" live "],\"allocated\":[" all "]"

static const struct hs_top_row *first(enum hs_top_sort sort, const char *contains, size_t expected)
{
    const size_t *rows;
    size_t count;
    ck_assert_int_eq(hs_top_model__list(&model, sort, contains, &rows, &count), 0);
    ck_assert_uint_eq(count, expected);
    return count ? &model.row[rows[0]] : NULL;
}

START_TEST(changes_are_counted_from_the_mark)
{
    ck_assert_int_eq(take(1, ROW("a", "100,1", "100,1") "," ROW("b", "50,1", "50,1"), SUM("150,2", "150,2")), 0);
    ck_assert_int_eq(hs_top_row__grew(first(HS_TOP_GREW, "", 2)), 0);
    ck_assert_int_eq(take(3, ROW("a", "40,1", "1100,21") "," ROW("b", "90,2", "90,2"), SUM("130,3", "1190,23")), 0);
    const struct hs_top_row *grew = first(HS_TOP_GREW, "", 2);
    ck_assert_str_eq(grew->name, "b (lib.so)");
    ck_assert_int_eq(hs_top_row__grew(grew), 40);
    const struct hs_top_row *churns = first(HS_TOP_CHURN, "", 2);
    ck_assert_str_eq(churns->name, "a (lib.so)");
    ck_assert_int_eq(hs_top_row__grew(churns), -60);
    ck_assert_double_eq_tol(churns->bytes_per_second, 500, 0.01);
    ck_assert_double_eq_tol(churns->blocks_per_second, 10, 0.01);
    ck_assert_double_eq_tol(model.bytes_per_second, 520, 0.01);
    hs_top_model__rest(&model);
    ck_assert_double_eq_tol(first(HS_TOP_CHURN, "", 2)->bytes_per_second, 0, 0.01);
    ck_assert_double_eq_tol(model.bytes_per_second, 0, 0.01);
    hs_top_model__mark(&model);
    ck_assert_int_eq(hs_top_row__grew(first(HS_TOP_GREW, "", 2)), 0);
    ck_assert_str_eq(first(HS_TOP_LIVE, "", 2)->name, "b (lib.so)");
    ck_assert_str_eq(first(HS_TOP_NAME, "", 2)->name, "a (lib.so)");
    ck_assert_str_eq(first(HS_TOP_NAME, "B (LIB", 1)->name, "b (lib.so)");
}
END_TEST

START_TEST(rows_come_and_go)
{
    ck_assert_int_eq(take(1, ROW("a", "100,1", "100,1"), SUM("100,1", "100,1")), 0);
    ck_assert_int_eq(take(2, ROW("b", "30,1", "30,1"), SUM("30,1", "130,2")), 0);
    ck_assert_int_eq(hs_top_row__grew(first(HS_TOP_GREW, "", 2)), 30);
    ck_assert_int_eq(hs_top_row__grew(first(HS_TOP_NAME, "", 2)), -100);
    hs_top_model__mark(&model);
    ck_assert_str_eq(first(HS_TOP_NAME, "", 1)->name, "b (lib.so)");
    // The same time again: no rate.
    ck_assert_int_eq(take(2, ROW("b", "60,2", "60,2"), SUM("60,2", "160,3")), 0);
    ck_assert_double_eq_tol(first(HS_TOP_CHURN, "", 1)->bytes_per_second, 0, 0.01);
}
END_TEST

START_TEST(hostile_answers_are_refused)
{
    static const char *const wrong[] = {"", "[]", "{}", "{\"rows\":{},\"sum\":{}}", "{\"rows\":[1],\"sum\":{}}", "{"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char *text = strdup(wrong[i]);
        ck_assert_int_eq(hs_top_model__take(&model, text, 1), -EINVAL);
        free(text);
    }
    ck_assert_int_eq(take(1, ROW("\\u001b[2Jx", "1,1", "1,1") ",{\"self\":{\"live\":[1]}}", SUM("1,1", "1,1")), 0);
    ck_assert_ptr_null(strchr(first(HS_TOP_NAME, "x (", 1)->name, 27));
}
END_TEST

START_TEST(a_costly_refresh_is_rarer)
{
    const uint64_t second = 1000000000;
    ck_assert_uint_eq(hs_top_pause(second, 0), second);
    ck_assert_uint_eq(hs_top_pause(second, second / 50), second);
    ck_assert_uint_eq(hs_top_pause(second, second / 25), 2 * second);
    ck_assert_uint_eq(hs_top_pause(second, second), 5 * second);
    ck_assert_uint_eq(hs_top_pause(second, UINT64_MAX), 5 * second);
    ck_assert_uint_eq(hs_top_pause(60 * second, second), 60 * second);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("top_model");
    tcase_add_checked_fixture(cases, NULL, close_model);
    tcase_add_test(cases, changes_are_counted_from_the_mark);
    tcase_add_test(cases, rows_come_and_go);
    tcase_add_test(cases, hostile_answers_are_refused);
    tcase_add_test(cases, a_costly_refresh_is_rarer);
    return run_cases("top_model", cases);
}
