// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/gather/select.h"
#include "tests/suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct hs_select_subject gateway = {.name = "sensord",
                                                 .device = "gw-17",
                                                 .pid = "4711",
                                                 .address = "192.0.2.7",
                                                 .labels = "site=lab 2,rack=b,empty=,sites=no"};

static bool selects(const char *text)
{
    struct hs_error error = {.message = ""};
    struct hs_select *select = hs_select__parse(text, &error);
    ck_assert_msg(select != NULL, "%s: %s", text, error.message);
    bool result = hs_select__matches(select, &gateway);
    hs_select__free(select);
    return result;
}

START_TEST(test_comparisons)
{
    ck_assert(selects("name == sensord"));
    ck_assert(selects("name==\"sensord\""));
    ck_assert(!selects("name == sensor"));
    ck_assert(selects("name != 'sensor'"));
    ck_assert(selects("device =~ \"^gw-[0-9]+$\""));
    ck_assert(selects("device=~gw"));
    ck_assert(!selects("device !~ gw"));
    ck_assert(selects("pid == 4711"));
    ck_assert(selects("address =~ \"^192[.]0\""));
    ck_assert(selects("name =~ \"\\\\w\""));
    ck_assert(selects("name =~ \"\\w\""));
    ck_assert(selects("labels.site == 'lab 2'"));
    ck_assert(selects("labels.rack == b"));
    ck_assert(selects("labels.empty == ''"));
    ck_assert(selects("labels.missing == \"\""));
    ck_assert(!selects("labels.sit =~ ."));
}
END_TEST

START_TEST(test_logic)
{
    ck_assert(selects("name == x or pid == 4711"));
    ck_assert(!selects("name == x and pid == 4711"));
    ck_assert(selects("name == sensord or name == x and pid == 1"));
    ck_assert(!selects("(name == sensord or name == x) and pid == 1"));
    ck_assert(selects("not name == x"));
    ck_assert(selects("not not name == sensord"));
    ck_assert(selects("not(name == x or name == y)and pid==4711"));
    ck_assert(!selects("not name == x and pid == 1"));
    ck_assert(selects(" ( ( name == sensord ) ) \n"));
    ck_assert(hs_select__matches(NULL, &gateway));
}
END_TEST

static void expect_error(const char *text, const char *expected)
{
    struct hs_error error = {.message = ""};
    ck_assert_msg(!hs_select__parse(text, &error), "%s", text);
    ck_assert_msg(strstr(error.message, expected) != NULL, "%s: %s", text, error.message);
}

START_TEST(test_errors)
{
    expect_error("", "at character 1: a comparison is missing");
    expect_error("name", "at character 5: one of == != =~ !~");
    expect_error("name = x", "at character 6: one of ==");
    expect_error("name ==", "at character 8: a value");
    expect_error("name == x y", "at character 11: unexpected 'y'");
    expect_error("name == x and", "at character 14: a comparison is missing");
    expect_error("(name == x", "at character 1: the closing ) is missing");
    expect_error("name == x)", "at character 10: unexpected ')'");
    expect_error("name == \"x", "at character 9: the closing \" is missing");
    expect_error("colour == x", "there is no key 'colour'");
    expect_error("labels. == x", "there is no key 'labels.'");
    expect_error("names == x", "there is no key 'names'");
    expect_error("name =~ \"(\"", "at character 9: the regular expression '(' is wrong");
    expect_error("== x", "'=' is not a key");
}
END_TEST

static char *repeat(const char *piece, size_t count, const char *end)
{
    char *text = malloc(strlen(piece) * count + strlen(end) + 1);
    char *at = text;
    for (size_t i = 0; i < count; i++)
        at = stpcpy(at, piece);
    strcpy(at, end);
    return text;
}

START_TEST(test_limits)
{
    char *deep = repeat("(", HS_SELECT_DEEPEST, "name == x");
    char *nots = repeat("not ", HS_SELECT_DEEPEST, "name == x");
    char *wide = repeat("name == x or ", 300, "name == sensord");
    char *wider = repeat("name == x or ", 400, "name == sensord");
    expect_error(deep, "too deep");
    expect_error(nots, "too deep");
    ck_assert(selects(wide));
    expect_error(wider, "longer than");
    free(deep);
    free(nots);
    free(wide);
    free(wider);
}
END_TEST

// An expression that would be tried for ever matches nothing.
START_TEST(test_costly_pattern)
{
    struct hs_select_subject subject = gateway;
    subject.name = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab";
    struct hs_select *select = hs_select__parse("name =~ '^(a+)+$'", NULL);
    ck_assert(!hs_select__matches(select, &subject));
    hs_select__free(select);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gather_select");
    TCase *tests = tcase_create("gather_select");
    tcase_add_test(tests, test_comparisons);
    tcase_add_test(tests, test_logic);
    tcase_add_test(tests, test_errors);
    tcase_add_test(tests, test_limits);
    tcase_add_test(tests, test_costly_pattern);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
