// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The stub for borrowed threads: what differs from call to call are the values at its end, which lie in none of its
// instructions. Whatever the values and addresses are, both have room.
#include "host/inject/arch.h"
#include "tests/suite.h"

#include <string.h>

static size_t make(uint8_t *bytes, int value, uint64_t at, uint64_t done)
{
    struct hs_borrowed borrowed = {.stub = at};
    memset(borrowed.mask, value, sizeof borrowed.mask);
    memset(borrowed.registers, value, sizeof borrowed.registers);
    return hs_inject_arch__native()->stub(bytes, &borrowed, done);
}

START_TEST(test_room)
{
    static const uint64_t places[] = {0x10000, 0x7ffff000, 0xb6ff1000, 0x7ffff7ff1000, 0xfffffffff000};
    const struct hs_inject_arch *arch = hs_inject_arch__native();
    uint8_t with_zeros[HS_INJECT_CODE], with_ones[HS_INJECT_CODE];
    if (!arch)
        return;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        for (size_t k = 0; k <= sizeof places / sizeof *places; k++) {
            uint64_t done = k ? places[k - 1] | 0xff8 : 0;
            ck_assert_uint_eq(make(with_zeros, 0, places[i], done), HS_INJECT_CODE);
            ck_assert_uint_eq(make(with_ones, 0xff, places[i], done), HS_INJECT_CODE);
            ck_assert_mem_eq(with_zeros, with_ones, HS_INJECT_CODE - arch->stub_values);
            ck_assert(memcmp(with_zeros, with_ones, HS_INJECT_CODE) != 0);
        }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stub");
    TCase *tests = tcase_create("stub");
    tcase_add_test(tests, test_room);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
