// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/clock.h"
#include "tests/suite.h"

#include <check.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

// ---- instead of runtime/text.c -------------------------------------------------------------------------------------

static uint64_t read_at;

size_t hs_text__read_file(const char *path, char *buffer, size_t size);
bool hs_text__starts_with(const char *text, const char *prefix);
bool hs_text__equal(const char *left, const char *right);

size_t hs_text__read_file(const char *path, char *buffer, size_t size)
{
    ck_assert(path && size);
    *buffer = '\0';
    read_at = hs_clock__monotonic_ns();
    return 0;
}

bool hs_text__starts_with(const char *text, const char *prefix)
{
    return !strncmp(text, prefix, strlen(prefix));
}

bool hs_text__equal(const char *left, const char *right)
{
    return !strcmp(left, right);
}

// ---- tests ---------------------------------------------------------------------------------------------------------

// Whatever takes time is done before both are read.
START_TEST(both_clocks_begin_at_the_same_time)
{
    hs_clock__start();
    ck_assert_uint_ge(hs_clock.start_monotonic_ns, read_at);
    ck_assert_uint_le(hs_clock.start_monotonic_ns, hs_clock__monotonic_ns());
    const uint64_t earlier = hs_clock__now();
    ck_assert_uint_le(earlier, hs_clock__now());
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("runtime_clock");
    TCase *cases = tcase_create("clock");
    tcase_add_test(cases, both_clocks_begin_at_the_same_time);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
