// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Lines of CPython's instructions, from tables of each kind that were put together by hand, and from anything.
#include "host/symbols/python_lines.h"

#include "tests/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static void expect(unsigned kind, const uint8_t *table, size_t length, const uint32_t *lines, size_t count)
{
    for (size_t unit = 0; unit < count; unit++)
        ck_assert_msg(hs_python_lines__find(kind, table, length, 10, (int64_t)unit) == lines[unit], "unit %zu", unit);
    ck_assert_uint_eq(hs_python_lines__find(kind, table, length, 10, -1), 10);
}

START_TEST(test_lnotab)
{
    static const uint8_t table[] = {6, 1, 4, 2, 0, 127, 2, 0, 4, 0x80};
    static const uint32_t lines[] = {10, 10, 10, 11, 11, 140, 140, 140, 12, 12};
    expect(HS_PYTHON_LINES_LNOTAB, table, sizeof table, lines, sizeof lines / sizeof *lines);
    expect(HS_PYTHON_LINES_LNOTAB, table, 0, (const uint32_t[]){10, 10}, 2);
    ck_assert_uint_eq(hs_python_lines__find(HS_PYTHON_LINES_LNOTAB, table, sizeof table, 1, 8), 3);
    ck_assert_uint_eq(hs_python_lines__find(HS_PYTHON_LINES_LNOTAB, (const uint8_t[]){0, 0xf0}, 2, 1, 8), 0);
}
END_TEST

START_TEST(test_linetable)
{
    static const uint8_t table[] = {2, 0, 4, 1, 2, 0x80, 4, 0xfb, 0, 127, 2, 1};
    static const uint32_t lines[] = {10, 11, 11, 0, 6, 6, 134, 0, 0};
    expect(HS_PYTHON_LINES_LINETABLE, table, sizeof table, lines, sizeof lines / sizeof *lines);
}
END_TEST

#define ENTRY(form, units) (0x80 | (form) << 3 | ((units)-1))

START_TEST(test_locations)
{
    static const uint8_t table[] = {ENTRY(0, 1),
                                    0x11,
                                    ENTRY(11, 2),
                                    3,
                                    4,
                                    ENTRY(13, 1),
                                    4,
                                    ENTRY(15, 8), // no line
                                    ENTRY(14, 1),
                                    7,
                                    0,
                                    0x41,
                                    1,
                                    2,
                                    ENTRY(13, 1),
                                    0x48,
                                    3,
                                    ENTRY(10, 1),
                                    1,
                                    ENTRY(12, 1)};
    static const uint32_t lines[] = {10, 11, 11, 13, 0, 0, 0, 0, 0, 0, 0, 0, 10, 110, 110, 112, 0, 0};
    expect(HS_PYTHON_LINES_LOCATIONS, table, sizeof table, lines, sizeof lines / sizeof *lines);
}
END_TEST

// In memory of exactly its size, for the sanitizers.
START_TEST(test_anything)
{
    srand(3);
    for (unsigned round = 0; round < 20000; round++) {
        size_t length = (size_t)rand() % 24;
        uint8_t *table = malloc(length + !length);
        for (size_t i = 0; i < length; i++)
            table[i] = (uint8_t)rand();
        hs_python_lines__find((unsigned)rand() % 5, table, length, (uint32_t)rand() * 3, rand() % 300 - 1);
        free(table);
    }
    for (unsigned kind = 0; kind < 5; kind++) {
        ck_assert_uint_eq(hs_python_lines__find(kind, NULL, 0, 0, INT64_MAX), 0);
        hs_python_lines__find(kind, (const uint8_t[]){255, 127}, 2, UINT32_MAX, UINT32_MAX);
    }
    ck_assert_uint_eq(hs_python_lines__find(9, NULL, 0, 10, 0), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("python lines");
    TCase *tests = tcase_create("python lines");
    tcase_add_test(tests, test_lnotab);
    tcase_add_test(tests, test_linetable);
    tcase_add_test(tests, test_locations);
    tcase_add_test(tests, test_anything);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
