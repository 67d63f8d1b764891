// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Spans against a map of all addresses.
#include "host/rest/spans.h"
#include "tests/suite.h"

#include <check.h>
#include <string.h>

enum { ADDRESSES = 4000 };

// Spans that touch are one: a place between two addresses is in the set as well.
static void mark(uint8_t *places, uint64_t start, uint64_t end)
{
    memset(places + 2 * start, 1, 2 * (end - start) + 1);
}

static void expect(const struct hs_spans *spans, const uint8_t *places)
{
    size_t at = 0, count = 0;
    while (at < 2 * ADDRESSES) {
        const size_t start = at;
        while (places[at])
            at++;
        if (at > start) {
            ck_assert_uint_lt(count, spans->count);
            ck_assert_uint_eq(spans->at[count].start, start / 2);
            ck_assert_uint_eq(spans->at[count++].end, (at - 1) / 2);
        }
        at++;
    }
    ck_assert_uint_eq(spans->count, count);
}

START_TEST(spans_are_what_was_added)
{
    static uint8_t places[2 * ADDRESSES + 2];
    struct hs_spans spans = {0};
    uint32_t random = 1;
    memset(places, 0, sizeof(places));
    for (unsigned i = 0; i < 600; i++) {
        random = random * 1664525 + 1013904223;
        const uint64_t start = (random >> 8) % (ADDRESSES - 64), length = (random >> 24) % 24;
        ck_assert_int_eq(hs_spans__add(&spans, start, start + length), 0);
        mark(places, start, start + length);
        if (i % 37)
            continue;
        ck_assert_int_eq(hs_spans__settle(&spans), 0);
        expect(&spans, places);
    }
    hs_spans__free(&spans);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("server_spans");
    TCase *cases = tcase_create("spans");
    tcase_add_test(cases, spans_are_what_was_added);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
