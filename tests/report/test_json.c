// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The JSON writer against jansson, and the texts for people.
#include "host/base/json.h"
#include "host/report/frames.h"
#include "host/report/text.h"
#include "tests/suite.h"

#include <check.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static char *written;
static size_t written_length;
static struct hs_json json;

static void begin(bool pretty)
{
    hs_json__start(&json, open_memstream(&written, &written_length), pretty);
}

static json_t *end(void)
{
    json_error_t error;
    fclose(json.out);
    json_t *value = json_loadb(written, written_length, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    ck_assert_msg(value != NULL, "%s in %s", error.text, written);
    free(written);
    return value;
}

START_TEST(test_structure)
{
    for (int pretty = 0; pretty < 2; pretty++) {
        begin(pretty);
        hs_json__open_object(&json, NULL);
        hs_json__open_array(&json, "empty");
        hs_json__close_array(&json);
        hs_json__open_array(&json, "mixed");
        hs_json__number(&json, NULL, 9007199254740993u);
        hs_json__signed(&json, NULL, -5);
        hs_json__real(&json, NULL, 0.1);
        hs_json__real(&json, NULL, NAN);
        hs_json__boolean(&json, NULL, true);
        hs_json__null(&json, NULL);
        hs_json__open_object(&json, NULL);
        hs_json__string(&json, "a\"b", NULL);
        hs_json__close_object(&json);
        hs_json__close_array(&json);
        hs_json__close_object(&json);
        json_t *value = end();
        json_t *expected = json_pack("{s:[],s:[I,i,f,n,b,n,{s:n}]}", "empty", "mixed", (json_int_t)9007199254740993, -5,
                                     0.1, 1, "a\"b");
        ck_assert(json_equal(value, expected));
        json_decref(value);
        json_decref(expected);
    }
}
END_TEST

static void expect_string(const char *bytes, size_t length, const char *expected)
{
    begin(false);
    hs_json__open_array(&json, NULL);
    hs_json__bytes(&json, NULL, bytes, length);
    hs_json__close_array(&json);
    json_t *value = end();
    const json_t *string = json_array_get(value, 0);
    ck_assert_str_eq(json_string_value(string), expected);
    json_decref(value);
}

START_TEST(test_strings)
{
    expect_string("plain", 5, "plain");
    expect_string("q\"b\\n\nt\t\x01\x7f", 10, "q\"b\\n\nt\t\x01\x7f");
    expect_string("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 9, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
    expect_string("a\xff"
                  "b",
                  3,
                  "a\xef\xbf\xbd"
                  "b");
    expect_string("\xc3", 1, "\xef\xbf\xbd");
    expect_string("\xc0\x80", 2, "\xef\xbf\xbd\xef\xbf\xbd");
    expect_string("\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    expect_string("\xf4\x90\x80\x80", 4, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}
END_TEST

// Any bytes at all become a string that a reader accepts.
START_TEST(test_all_pairs)
{
    for (int first = 0; first < 256; first++) {
        for (int second = 0; second < 256; second++) {
            char bytes[3] = {(char)first, (char)second, 'x'};
            begin(false);
            hs_json__open_array(&json, NULL);
            hs_json__bytes(&json, NULL, bytes, 3);
            hs_json__close_array(&json);
            json_decref(end());
        }
    }
}
END_TEST

START_TEST(test_texts)
{
    ck_assert_str_eq(hs_text__bytes(0).text, "0 B");
    ck_assert_str_eq(hs_text__bytes(1023).text, "1023 B");
    ck_assert_str_eq(hs_text__bytes(1024).text, "1.00 KiB");
    ck_assert_str_eq(hs_text__bytes(1048575).text, "1.00 MiB");
    ck_assert_str_eq(hs_text__bytes(12345678).text, "11.8 MiB");
    ck_assert_str_eq(hs_text__bytes(UINT64_MAX).text, "16.0 EiB");
    ck_assert_str_eq(hs_text__count(0).text, "0");
    ck_assert_str_eq(hs_text__count(999).text, "999");
    ck_assert_str_eq(hs_text__count(1000).text, "1,000");
    ck_assert_str_eq(hs_text__count(UINT64_MAX).text, "18,446,744,073,709,551,615");
    ck_assert_str_eq(hs_text__time(999).text, "999 ns");
    ck_assert_str_eq(hs_text__time(1500000).text, "1.5 ms");
    ck_assert_str_eq(hs_text__time(12345678901).text, "12.35 s");
    ck_assert_str_eq(hs_text__time(3599999999999).text, "59 min 59 s");
    ck_assert_str_eq(hs_text__time(7260000000000).text, "2 h 1 min");
    ck_assert_str_eq(hs_text__percent(1, 3).text, "33.3 %");
    ck_assert_str_eq(hs_text__percent(1, 0).text, "0.0 %");
    ck_assert_str_eq(hs_text__rate(1000000, 500000000).text, "2,000,000 per second");
    ck_assert_str_eq(hs_text__rate(1, 0).text, "0 per second");
    ck_assert_str_eq(hs_text__rate(0, 1000).text, "0 per second");
    ck_assert_str_eq(hs_text__rate(864, 86400000000000).text, "36 per hour");
    ck_assert_str_eq(hs_text__rate(3, 86400000000000).text, "3 per day");
    ck_assert_str_eq(hs_text__bytes_rate(2048).text, "2.00 KiB per second");
    ck_assert_str_eq(hs_text__bytes_rate(0.3).text, "1.05 KiB per hour");
}
END_TEST

START_TEST(test_rates_at_the_edges)
{
    ck_assert_str_eq(hs_text__rate(1, 1000000000).text, "1 per second");
    ck_assert_str_eq(hs_text__rate(6, 10000000000).text, "2,160 per hour");
    ck_assert_str_eq(hs_text__rate(1, 3600000000000).text, "1 per hour");
    ck_assert_str_eq(hs_text__rate(1, 86400000000000).text, "1 per day");
    ck_assert_str_eq(hs_text__rate(1, 864000000000000).text, "less than 1 per day");
    ck_assert_str_eq(hs_text__rate(UINT64_MAX, 1).text, "18,446,744,073,709,551,615 per second");
    ck_assert_str_eq(hs_text__bytes_rate(0).text, "0 B per second");
    ck_assert_str_eq(hs_text__bytes_rate(0.6).text, "2.11 KiB per hour");
    ck_assert_str_eq(hs_text__bytes_rate(1.001 / 86400).text, "1 B per day");
    ck_assert_str_eq(hs_text__bytes_rate(1e-300).text, "less than 1 B per day");
    ck_assert_str_eq(hs_text__bytes_rate(1e300).text, "16.0 EiB per second");
}
END_TEST

static void expect_frame(const char *function, const char *expected)
{
    char *line = NULL;
    size_t length = 0;
    struct hs_frame frame = {.function = function, .module = "", .kind = HS_FRAME_OFFSET};
    FILE *stream = open_memstream(&line, &length);
    hs_frame__print(stream, hs_style__for(stream), &frame);
    fclose(stream);
    ck_assert_str_eq(line, expected);
    free(line);
}

#define LONG                                                                                                           \
    "a_name_that_alone_takes_more_than_a_hundred_letters_so_that_there_is_no_room_left_for_any_argument_of_it_at_all"

START_TEST(test_long_names)
{
    expect_frame("std::map<int, int>::find(int const&)", "std::map<int, int>::find(int const&)\n");
    expect_frame("std::map<int, std::less<" LONG "> >::find(int)", "std::map<..>::find(..)\n");
    expect_frame("void f<" LONG ">(int (*)(char), x<y>)", "void f<..>(..)\n");
    expect_frame("a<" LONG ">::operator()(int) const", "a<..>::operator()(..) const\n");
    expect_frame("a<" LONG ">::operator<< <int>(b<c>)", "a<..>::operator<< <..>(..)\n");
    expect_frame("a<" LONG ">::operator->()", "a<..>::operator->()\n");
    expect_frame("(anonymous namespace)::f(" LONG ")", "(anonymous namespace)::f(..)\n");
    expect_frame("f(int)::{lambda(" LONG ")#1}::operator()(int)", "f(..)::{lambda(..)#1}::operator()(..)\n");
    // Brackets that do not pair up: the middle goes.
    expect_frame("f<" LONG, "f<a_name_that_alone_takes_more_than_a_hundred_letters"
                            "...at_there_is_no_room_left_for_any_argument_of_it_at_all\n");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("json");
    TCase *tests = tcase_create("json");
    tcase_add_test(tests, test_structure);
    tcase_add_test(tests, test_strings);
    tcase_add_test(tests, test_all_pairs);
    tcase_add_test(tests, test_texts);
    tcase_add_test(tests, test_rates_at_the_edges);
    tcase_add_test(tests, test_long_names);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
