// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/load.h"
#include "tests/suite.h"

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

START_TEST(reads_how_many_want_to_run)
{
    ck_assert_uint_eq(hs_load__runnable("0.00 0.01 0.05 3/123 4567\n"), 3);
    ck_assert_uint_eq(hs_load__runnable("10.41 8.07 4.91 12/345 678\n"), 12);
    ck_assert_uint_eq(hs_load__runnable("0.00 0.01 0.05 "), 0);
    ck_assert_uint_eq(hs_load__runnable("0.00 0.01"), 0);
    ck_assert_uint_eq(hs_load__runnable(""), 0);
}
END_TEST

START_TEST(counts_processors)
{
    cpu_set_t mask;
    ck_assert_int_eq(sched_getaffinity(0, sizeof mask, &mask), 0);
    hs_load__watch();
    ck_assert_uint_eq(hs_load__processors(), (unsigned)CPU_COUNT(&mask));
    hs_load__forget();
}
END_TEST

static atomic_int started, stop;

static void *spin(void *unused)
{
    (void)unused;
    atomic_fetch_add(&started, 1);
    while (!atomic_load(&stop))
        ;
    return NULL;
}

// Three threads that run on one processor, and this one.
START_TEST(is_high_when_more_run_than_processors)
{
    cpu_set_t mask, first;
    ck_assert_int_eq(sched_getaffinity(0, sizeof mask, &mask), 0);
    int processor = 0;
    while (!CPU_ISSET(processor, &mask))
        processor++;
    CPU_ZERO(&first);
    CPU_SET(processor, &first);
    ck_assert_int_eq(sched_setaffinity(0, sizeof first, &first), 0);
    ck_assert(!hs_load__is_high()); // nobody looks
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, spin, NULL), 0);
    while (atomic_load(&started) < 3)
        sched_yield();
    hs_load__watch();
    ck_assert(hs_load__is_high());
    hs_load__forget();
    ck_assert(!hs_load__is_high());
    atomic_store(&stop, 1);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("load");
    TCase *loads = tcase_create("load");
    tcase_add_test(loads, reads_how_many_want_to_run);
    tcase_add_test(loads, counts_processors);
    tcase_add_test(loads, is_high_when_more_run_than_processors);
    suite_add_tcase(suite, loads);
    return run_suite(suite);
}
