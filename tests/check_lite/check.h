// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The part of Check's interface that the suites use, for targets on which Check itself does not exist: musl, and
// big-endian MIPS64. Every test runs in a process of its own, with a timeout; a failed assertion ends that process.
// CK_DEFAULT_TIMEOUT is how many seconds a test has.
#ifndef HEAPSONDE_TESTS_CHECK_LITE_H
#define HEAPSONDE_TESTS_CHECK_LITE_H

#include <stdint.h>
#include <string.h>

enum check_mode { CK_SILENT, CK_MINIMAL, CK_NORMAL, CK_VERBOSE, CK_ENV };

enum fork_status { CK_FORK_GETENV, CK_FORK, CK_NOFORK };

typedef struct suite Suite;
typedef struct test_case TCase;
typedef struct suite_runner SRunner;
typedef struct {
    const char *name;
    void (*run)(int _i);
} TTest;

#define START_TEST(name)                                                                                               \
    static void name##_run(int _i);                                                                                    \
    static const TTest name##_test = {#name, name##_run};                                                              \
    static const TTest *const name = &name##_test;                                                                     \
    static void name##_run(int _i __attribute__((unused)))
#define END_TEST

Suite *suite_create(const char *name);
TCase *tcase_create(const char *name);
void suite_add_tcase(Suite *suite, TCase *tests);
void tcase_set_timeout(TCase *tests, double seconds);
void tcase_add_checked_fixture(TCase *tests, void (*setup)(void), void (*teardown)(void));
void tcase_add_loop_test(TCase *tests, const TTest *test, int from, int to);
#define tcase_add_test(tests, test) tcase_add_loop_test(tests, test, 0, 1)

SRunner *srunner_create(Suite *suite);
// CK_NOFORK: every test in this process, without timeouts; the first failed assertion ends it.
void srunner_set_fork_status(SRunner *runner, enum fork_status status);
void srunner_run_all(SRunner *runner, enum check_mode mode);
int srunner_ntests_failed(SRunner *runner);
void srunner_free(SRunner *runner);

// Says where and why, and ends the process of the test.
__attribute__((format(printf, 3, 4), noreturn)) void check_lite_fail(const char *file, int line, const char *format,
                                                                     ...);

#define ck_abort()        check_lite_fail(__FILE__, __LINE__, "failed")
#define ck_abort_msg(...) check_lite_fail(__FILE__, __LINE__, __VA_ARGS__)
#define ck_assert(condition)                                                                                           \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            check_lite_fail(__FILE__, __LINE__, "Assertion '%s' failed", #condition);                                  \
    } while (0)
#define ck_assert_msg(condition, ...)                                                                                  \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            check_lite_fail(__FILE__, __LINE__, __VA_ARGS__);                                                          \
    } while (0)

#define CHECK_LITE_COMPARE(type, print, left, operator, right)                                                         \
    do {                                                                                                               \
        type check_left = (left);                                                                                      \
        type check_right = (right);                                                                                    \
        if (!(check_left operator check_right))                                                                        \
            check_lite_fail(__FILE__, __LINE__, "Assertion '%s' failed: %s == " print ", %s == " print,                \
                            #left " " #operator" " #right, #left, check_left, #right, check_right);                    \
    } while (0)
#define CHECK_LITE_INT(l, o, r)  CHECK_LITE_COMPARE(intmax_t, "%jd", l, o, r)
#define CHECK_LITE_UINT(l, o, r) CHECK_LITE_COMPARE(uintmax_t, "%ju", l, o, r)
#define CHECK_LITE_PTR(l, o, r)  CHECK_LITE_COMPARE(const void *, "%p", l, o, r)

#define ck_assert_int_eq(l, r)    CHECK_LITE_INT(l, ==, r)
#define ck_assert_int_ne(l, r)    CHECK_LITE_INT(l, !=, r)
#define ck_assert_int_lt(l, r)    CHECK_LITE_INT(l, <, r)
#define ck_assert_int_le(l, r)    CHECK_LITE_INT(l, <=, r)
#define ck_assert_int_gt(l, r)    CHECK_LITE_INT(l, >, r)
#define ck_assert_int_ge(l, r)    CHECK_LITE_INT(l, >=, r)
#define ck_assert_uint_eq(l, r)   CHECK_LITE_UINT(l, ==, r)
#define ck_assert_uint_ne(l, r)   CHECK_LITE_UINT(l, !=, r)
#define ck_assert_uint_lt(l, r)   CHECK_LITE_UINT(l, <, r)
#define ck_assert_uint_le(l, r)   CHECK_LITE_UINT(l, <=, r)
#define ck_assert_uint_gt(l, r)   CHECK_LITE_UINT(l, >, r)
#define ck_assert_uint_ge(l, r)   CHECK_LITE_UINT(l, >=, r)
#define ck_assert_double_lt(l, r) CHECK_LITE_COMPARE(double, "%g", l, <, r)
#define ck_assert_double_eq_tol(l, r, tolerance)                                                                       \
    ck_assert_msg(__builtin_fabs((double)(l) - (double)(r)) < (double)(tolerance), "%g and %g differ", (double)(l),    \
                  (double)(r))
#define ck_assert_ptr_eq(l, r)    CHECK_LITE_PTR(l, ==, r)
#define ck_assert_ptr_ne(l, r)    CHECK_LITE_PTR(l, !=, r)
#define ck_assert_ptr_null(p)     CHECK_LITE_PTR(p, ==, NULL)
#define ck_assert_ptr_nonnull(p)  CHECK_LITE_PTR(p, !=, NULL)
#define ck_assert_mem_eq(l, r, n) ck_assert(memcmp(l, r, n) == 0)
#define ck_assert_str_eq(l, r)                                                                                         \
    do {                                                                                                               \
        const char *check_left = (l), *check_right = (r);                                                              \
        if (strcmp(check_left, check_right) != 0)                                                                      \
            check_lite_fail(__FILE__, __LINE__, "Assertion '%s == %s' failed: \"%s\", \"%s\"", #l, #r, check_left,     \
                            check_right);                                                                              \
    } while (0)

#endif
