// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The table of what addresses stand for: by address and time, however many there are.
#include "host/store/store.h"
#include "host/symbols/places.h"
#include "tests/suite.h"

#include <check.h>

enum { MANY = 20000 };

// Two modules one after the other at each third address, something that is there for good at the others.
static uint32_t add(struct hs_places *places, uint64_t pc, uint64_t from, uint64_t until)
{
    const struct hs_place place = {.pc = pc, .from = from, .until = until, .module = (int)(pc % 1000)};
    return hs_places__add(places, &place, true);
}

START_TEST(found_by_address_and_time)
{
    static uint32_t first[MANY], second[MANY];
    static const struct hs_place *kept[MANY];
    struct hs_places places;
    ck_assert_int_eq(hs_places__init(&places), 0);
    for (uint32_t i = 0; i < MANY; i++) {
        const uint64_t pc = (uint64_t)i << 12, until = i % 3 ? HS_NEVER : 100;
        ck_assert_uint_eq(hs_places__find(&places, pc, 50), 0);
        ck_assert((first[i] = add(&places, pc, 10, until)) != 0);
        kept[i] = hs_places__at(&places, first[i]);
        second[i] = i % 3 ? first[i] : add(&places, pc, 100, HS_NEVER);
    }
    for (uint32_t i = 0; i < MANY; i++) {
        const uint64_t pc = (uint64_t)i << 12;
        ck_assert_uint_eq(hs_places__find(&places, pc, 9), 0);
        ck_assert_uint_eq(hs_places__find(&places, pc, 10), first[i]);
        ck_assert_uint_eq(hs_places__find(&places, pc, 99), first[i]);
        ck_assert_uint_eq(hs_places__find(&places, pc, 100), second[i]);
        ck_assert_uint_eq(hs_places__find(&places, pc, HS_NEVER), second[i]);
        ck_assert_uint_eq(hs_places__find(&places, pc + 1, 50), 0);
        ck_assert_ptr_eq(hs_places__at(&places, first[i]), kept[i]);
        ck_assert(kept[i]->pc == pc && kept[i]->module == (int)(pc % 1000));
    }
    hs_places__free(&places);
}
END_TEST

START_TEST(not_listed)
{
    struct hs_places places;
    ck_assert_int_eq(hs_places__init(&places), 0);
    const struct hs_place place = {.pc = 7, .until = HS_NEVER};
    ck_assert_uint_eq(hs_places__add(&places, &place, false), 1);
    ck_assert_uint_eq(hs_places__find(&places, 7, 1), 0);
    ck_assert_uint_eq(hs_places__add(&places, &place, true), 2);
    ck_assert_uint_eq(hs_places__find(&places, 7, 1), 2);
    hs_places__free(&places);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("place_table");
    TCase *tests = tcase_create("place_table");
    tcase_add_test(tests, found_by_address_and_time);
    tcase_add_test(tests, not_listed);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
