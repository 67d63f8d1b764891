// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Regular expressions over many names: every name is tried, on several threads, and one that would take for ever is not
// waited for.
#include "host/filter/pattern.h"
#include "tests/suite.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES 20000

static char storage[NAMES][64];
static const char *names[NAMES];

static void make_names(const char *format)
{
    for (int i = 1; i < NAMES; i++) {
        snprintf(storage[i], sizeof(storage[i]), "%s%d", format, i);
        names[i] = storage[i];
    }
    names[0] = NULL;
}

static int match(const char *text, uint8_t *matches, unsigned threads, const int *cancel, struct hs_error *error)
{
    const struct hs_query_control control = {.threads = threads, .cancel = cancel};
    struct hs_pattern *pattern;
    int result = hs_pattern__create("function_regex", text, &pattern, error);
    ck_assert_msg(!result, "%s", error->message);
    memset(matches, 0, NAMES);
    result = hs_pattern__match_all(pattern, names, NAMES, matches, &control, error);
    hs_pattern__destroy(pattern);
    return result;
}

START_TEST(every_name_is_tried)
{
    static uint8_t one[NAMES], many[NAMES];
    struct hs_error error = {""};
    size_t count = 0;
    make_names("function_");
    ck_assert_int_eq(match("_[0-9]*7$", one, 1, NULL, &error), 0);
    ck_assert_int_eq(match("_[0-9]*7$", many, 8, NULL, &error), 0);
    ck_assert_mem_eq(one, many, NAMES);
    for (int i = 1; i < NAMES; i++)
        count += one[i] == (i % 10 == 7);
    ck_assert_uint_eq(count, NAMES - 1);
    ck_assert_int_eq(match("", one, 3, NULL, &error), 0);
    ck_assert(one[1] && one[NAMES - 1] && !one[0]);
}
END_TEST

// Each fails on names of many a after exponentially many steps.
START_TEST(bombs_are_cut_off)
{
    static const char *const bombs[] = {
        "^(a+)+$",          "^(a|a)*$",       "^(a|aa)+$",          "(.*a){25}b", "^(([a-z])+.)+[A-Z]([a-z])+$",
        "(?:a?){40}a{40}$", "^(?:(?:a*)*)*b", "(?:a?){5000}a{5000}"};
    static uint8_t matches[NAMES];
    struct hs_error error;
    unsigned cut_off = 0;
    make_names("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa_");
    for (size_t i = 0; i < sizeof(bombs) / sizeof(bombs[0]); i++) {
        error.message[0] = '\0';
        int result = match(bombs[i], matches, 2, NULL, &error);
        ck_assert_msg(!result || result == -EINVAL, "%s: %d", bombs[i], result);
        if (!result)
            continue; // some are recognised for what they are
        cut_off++;
        ck_assert_str_eq(error.message, "invalid 'function_regex': it takes too long to match; write it more simply");
    }
    ck_assert_uint_ge(cut_off, 4);
}
END_TEST

START_TEST(too_large_to_compile)
{
    static char text[40000];
    struct hs_pattern *pattern;
    struct hs_error error = {""};
    ck_assert_int_eq(hs_pattern__create("source_regex", "((a{60000}){60000}){60000}", &pattern, &error), -EINVAL);
    ck_assert_ptr_nonnull(strstr(error.message, "invalid 'source_regex': "));
    memset(text, 'a', sizeof(text) - 1);
    ck_assert_int_eq(hs_pattern__create("source_regex", text, &pattern, &error), -EINVAL);
    memset(text, '(', 1000);
    ck_assert_int_eq(hs_pattern__create("source_regex", text, &pattern, &error), -EINVAL);
}
END_TEST

START_TEST(cancelling_stops)
{
    static uint8_t matches[NAMES];
    struct hs_error error = {""};
    int cancel = 1;
    make_names("function_");
    ck_assert_int_eq(match("x", matches, 2, &cancel, &error), -ECANCELED);
}
END_TEST

// Names come from files that anybody may have written.
START_TEST(names_that_are_no_text)
{
    static uint8_t matches[NAMES];
    struct hs_error error = {""};
    make_names("f");
    names[1] = "caf\xc3\xa9";
    names[2] = "\xff\xfe"
               "main";
    names[3] = "\xc3";
    ck_assert_int_eq(match("^caf\xc3\xa9$|main|^\\w+\xc3\xa9$", matches, 1, NULL, &error), 0);
    ck_assert(matches[1] && matches[2] && !matches[3] && !matches[4]);
    ck_assert_int_eq(match("^caf.$", matches, 1, NULL, &error), 0);
    ck_assert(matches[1]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("regex");
    TCase *cases = tcase_create("regex");
    tcase_add_test(cases, every_name_is_tried);
    tcase_add_test(cases, bombs_are_cut_off);
    tcase_add_test(cases, too_large_to_compile);
    tcase_add_test(cases, cancelling_stops);
    tcase_add_test(cases, names_that_are_no_text);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
