// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Frames of PyPy's machine code.
#include "run_time.h"

#include <stdlib.h>

START_TEST(machine_code_of_pypy)
{
    enum { FAR = 272 };
    const size_t pushed[] = {0, 16, 256};
    uintptr_t code = make_code(frame_pypy, (size_t)(frame_pypy_end - frame_pypy));
    const void *const start[] = {NULL, (void *)code}, *const number = (void *)3;
    for (size_t i = 0; i < 6; i++) {
        call_pypy(code, PYPY_COMPILED, pushed[i % 3], i < 3 ? number : start);
        check_goes_on();
        ck_assert_int_eq(inner.info.guessed, 1);
        ck_assert_int_eq(inner.depth, outer.depth + 2);
        call_pypy(code, i % 2 ? PYPY_OTHER : PYPY_COMPILED, i % 2 ? pushed[i % 3] : FAR, number);
        ck_assert_int_eq(inner.info.end, HS_BACKTRACE_NO_RULE);
        ck_assert_int_eq(inner.depth, 2);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pypy");
    TCase *cases = tcase_create("pypy");
    tcase_add_test(cases, machine_code_of_pypy);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
