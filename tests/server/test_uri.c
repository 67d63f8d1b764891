// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/server/uri.h"
#include "tests/suite.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct hs_uri uri;

static void parse(const char *text)
{
    struct hs_error error = {""};
    int result = hs_uri__parse(&uri, text, &error);
    ck_assert_msg(!result, "%s: %s", text, error.message);
}

static const char *value(const char *name)
{
    const char *found = hs_uri__value(&uri, name);
    ck_assert_msg(found != NULL, "%s is not there", name);
    return found;
}

START_TEST(values_are_decoded)
{
    parse("/a?from=50%&to=50%25&regex=%5ef%2Bg%24&words=a+b&empty=&bare&broken=%4&odd=%zz");
    ck_assert_str_eq(value("from"), "50%");
    ck_assert_str_eq(value("to"), "50%");
    ck_assert_str_eq(value("regex"), "^f+g$");
    ck_assert_str_eq(value("words"), "a b");
    ck_assert_str_eq(value("empty"), "");
    ck_assert_str_eq(value("bare"), "");
    ck_assert_str_eq(value("broken"), "%4");
    ck_assert_str_eq(value("odd"), "%zz");
    ck_assert_ptr_null(hs_uri__value(&uri, "other"));
    hs_uri__free(&uri);
}
END_TEST

START_TEST(paths_match_patterns)
{
    const char *values[2] = {NULL, NULL};
    parse("/data/last/export/a%2Fb%20c");
    ck_assert(hs_uri__matches(&uri, "/data/{id}/export/{format}", values, 2));
    ck_assert_str_eq(values[0], "last");
    ck_assert_str_eq(values[1], "a/b c");
    ck_assert(!hs_uri__matches(&uri, "/data/{id}/export", values, 2));
    ck_assert(!hs_uri__matches(&uri, "/data/{id}/export/{format}/{name}", values, 2));
    ck_assert(!hs_uri__matches(&uri, "/data/{id}/exports/{format}", values, 2));
    ck_assert(!hs_uri__matches(&uri, "/", values, 2));
    hs_uri__free(&uri);
    parse("/?a=b");
    ck_assert(hs_uri__matches(&uri, "/", values, 2));
    ck_assert(!hs_uri__matches(&uri, "/list", values, 2));
    hs_uri__free(&uri);
    parse("/data//tree");
    ck_assert(!hs_uri__matches(&uri, "/data/{id}/tree", values, 2));
    hs_uri__free(&uri);
}
END_TEST

START_TEST(a_copy_outlives_the_original)
{
    struct hs_uri copy;
    parse("/data/last?name=a%20value&other");
    ck_assert_int_eq(hs_uri__copy(&copy, &uri, NULL), 0);
    memset(uri.memory, 'x', uri.length - 1);
    hs_uri__free(&uri);
    ck_assert_str_eq(copy.segment[1], "last");
    ck_assert_str_eq(hs_uri__value(&copy, "name"), "a value");
    ck_assert_str_eq(hs_uri__value(&copy, "other"), "");
    hs_uri__free(&copy);
}
END_TEST

static void refuse(const char *text, const char *why)
{
    struct hs_error error = {""};
    ck_assert_int_eq(hs_uri__parse(&uri, text, &error), -EINVAL);
    ck_assert_msg(strstr(error.message, why) != NULL, "'%s' does not say '%s'", error.message, why);
}

START_TEST(what_is_too_much_is_refused)
{
    char many[4096] = "/a?";
    refuse("list", "begins with /");
    refuse("*", "begins with /");
    refuse("/a%00b", "%00");
    refuse("/a?b=%00", "b: the value contains %00");
    refuse("/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q", "parts");
    for (int i = 0; i < HS_URI_PARAMETERS + 1; i++)
        strcat(many, "a=b&");
    refuse(many, "parameters");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("uri");
    TCase *all = tcase_create("all");
    tcase_add_test(all, values_are_decoded);
    tcase_add_test(all, paths_match_patterns);
    tcase_add_test(all, a_copy_outlives_the_original);
    tcase_add_test(all, what_is_too_much_is_refused);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
