// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The end of every Check program's main().
#ifndef HEAPSONDE_TESTS_SUITE_H
#define HEAPSONDE_TESTS_SUITE_H

#include <check.h>

static inline int run_and_free(SRunner *runner)
{
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

// Runs each test in a process of its own, and frees the suite; the program's exit status.
static inline int run_suite(Suite *suite)
{
    return run_and_free(srunner_create(suite));
}

// For thousands of small tests: the first that crashes ends the program.
static inline int run_suite_in_one_process(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK);
    return run_and_free(runner);
}

#endif
