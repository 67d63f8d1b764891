// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Who gets a turn next.
#include "host/query/scan_scheduler.h"
#include "tests/suite.h"

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

enum { WAITERS = 6 };

struct waiter {
    uint64_t rank;
    pthread_t thread;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t order[WAITERS];
static unsigned ended;

static void *wait_for_turn(void *argument)
{
    const struct waiter *waiter = argument;
    hs_scan_scheduler__acquire(waiter->rank);
    pthread_mutex_lock(&lock);
    order[ended++] = waiter->rank;
    pthread_mutex_unlock(&lock);
    hs_scan_scheduler__release();
    return NULL;
}

// One turn goes round, the others stay taken.
START_TEST(least_rank_first)
{
    static struct waiter waiter[WAITERS] = {{.rank = 50}, {.rank = 10}, {.rank = 40},
                                            {.rank = 0},  {.rank = 30}, {.rank = UINT64_MAX}};
    static const uint64_t expected[WAITERS] = {0, 10, 30, 40, 50, UINT64_MAX};
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    for (long i = 0; i < processors; i++)
        hs_scan_scheduler__acquire(0);
    for (unsigned i = 0; i < WAITERS; i++) {
        ck_assert_int_eq(pthread_create(&waiter[i].thread, NULL, wait_for_turn, &waiter[i]), 0);
        while (hs_scan_scheduler__waiting() != i + 1)
            sched_yield();
    }
    hs_scan_scheduler__release();
    for (unsigned i = 0; i < WAITERS; i++)
        pthread_join(waiter[i].thread, NULL);
    for (unsigned i = 0; i < WAITERS; i++)
        ck_assert_uint_eq(order[i], expected[i]);
    for (long i = 1; i < processors; i++)
        hs_scan_scheduler__release();
}
END_TEST

START_TEST(ranks)
{
    const uint64_t ms = 1000000;
    // What has used little comes before all that takes long, the least first.
    ck_assert_uint_lt(hs_scan_scheduler__rank(0, 0, 1000), hs_scan_scheduler__rank(ms, 1, 1000));
    ck_assert_uint_lt(hs_scan_scheduler__rank(ms, 1, 100000), hs_scan_scheduler__rank(30 * ms, 999, 1));
    // Of what takes long, what ends sooner.
    ck_assert_uint_lt(hs_scan_scheduler__rank(900 * ms, 900, 100), hs_scan_scheduler__rank(100 * ms, 100, 900));
    ck_assert_uint_lt(hs_scan_scheduler__rank(100 * ms, 100, 900), hs_scan_scheduler__rank(100 * ms, 50, 950));
    ck_assert_uint_le(hs_scan_scheduler__rank(100 * ms, 0, 1000), hs_scan_scheduler__rank(100 * ms, 1, 1));
    ck_assert_uint_eq(hs_scan_scheduler__rank(UINT64_MAX, 1, UINT64_MAX),
                      hs_scan_scheduler__rank(UINT64_MAX, 1, UINT64_MAX - 1));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("query_scan_scheduler");
    TCase *tests = tcase_create("query_scan_scheduler");
    tcase_add_test(tests, least_rank_first);
    tcase_add_test(tests, ranks);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
