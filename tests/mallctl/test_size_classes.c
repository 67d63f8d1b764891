// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/prof/size_classes.h"
#include "tests/suite.h"

#include <check.h>

START_TEST(test_first_classes)
{
    static const uint64_t classes[] = {8,   16,  32,  48,  64,  80,  96,  112, 128, 160,
                                       192, 224, 256, 320, 384, 448, 512, 640, 768, 896};
    for (uint32_t i = 0; i < sizeof classes / sizeof *classes; i++)
        ck_assert_uint_eq(hs_size_class__at(i), classes[i]);
}
END_TEST

START_TEST(test_every_class_is_its_own)
{
    uint32_t count = 0;
    for (uint64_t size; (size = hs_size_class__at(count)) != 0; count++) {
        ck_assert_uint_eq(hs_size_class(size), size);
        ck_assert_uint_eq(hs_size_class__index(size), count);
        if (count == 0)
            continue;
        ck_assert_uint_eq(hs_size_class(hs_size_class__at(count - 1) + 1), size);
        ck_assert_uint_eq(hs_size_class(size - 1), size);
    }
    ck_assert_uint_eq(count, sizeof(uintptr_t) == 8 ? 232 : 104);
    ck_assert_uint_eq(hs_size_class(hs_size_class__at(count - 1) + 1), 0);
    ck_assert_uint_eq(hs_size_class(UINT64_MAX), 0);
    ck_assert_uint_eq(hs_size_class(0), 8);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("size_classes");
    TCase *tests = tcase_create("size_classes");
    tcase_add_test(tests, test_first_classes);
    tcase_add_test(tests, test_every_class_is_its_own);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
