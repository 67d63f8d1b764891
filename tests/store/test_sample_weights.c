// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What samples stand for, which only the whole trace says.
#include "host/import/sample_weights.h"

#include "format/trace_format.h"

#include <check.h>
#include <stdlib.h>

enum { MOST = 200, PERIOD = 10 };

static struct hs_sample samples[MOST];
static size_t count;
static struct hs_summary summary;

static void start(void)
{
    count = 0;
    summary = (struct hs_summary){0};
}

static struct hs_sample *add(uint32_t kind, uint32_t tid, uint64_t time, uint64_t weight)
{
    samples[count] = (struct hs_sample){.kind = kind, .tid = tid, .time = time, .weight = weight, .stack = 1};
    return &samples[count++];
}

static void add_cpu_samples(uint32_t tid, uint64_t from, unsigned number)
{
    for (unsigned i = 0; i < number; i++)
        add(HS_SAMPLE_CPU, tid, from + i, PERIOD);
}

static void weigh(uint64_t end)
{
    ck_assert_int_eq(hs_samples__weigh(samples, &count, end, &summary), 0);
}

static uint64_t sum_of(uint32_t tid)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += samples[i].tid == tid ? samples[i].weight : 0;
    return sum;
}

START_TEST(the_clock_of_a_thread_is_shared_out_among_its_samples)
{
    start();
    add_cpu_samples(7, 100, 3); // before recording paused
    add(HS_SAMPLE_CPU_CLOCK, 7, 110, 5000)->address = 1;
    add_cpu_samples(7, 120, 20);
    add_cpu_samples(8, 120, 5); // of which no clock is known
    add(HS_SAMPLE_CPU_CLOCK, 7, 150, 5333)->address = 1;
    add_cpu_samples(7, 160, 2); // after the last reading
    weigh(1000);
    ck_assert_uint_eq(count, 30);
    ck_assert_uint_eq(sum_of(7), 3 * PERIOD + 333 + 2 * PERIOD);
    ck_assert_uint_eq(sum_of(8), 5 * PERIOD);
    ck_assert_uint_eq(summary.cpu_ns, sum_of(7) + sum_of(8));
    for (size_t i = 3; i < 23; i++)
        ck_assert(samples[i].weight == 16 || samples[i].weight == 17);
}
END_TEST

START_TEST(a_new_thread_begins_with_nothing)
{
    start();
    add_cpu_samples(7, 100, 3);
    add(HS_SAMPLE_CPU_CLOCK, 7, 110, 99);
    weigh(1000);
    ck_assert_uint_eq(sum_of(7), 99);
    ck_assert_uint_eq(samples[0].weight, 33);
}
END_TEST

// Fewer than four samples wait for the next reading; those at the end have their own.
START_TEST(few_samples_are_shared_with_the_next_ones)
{
    start();
    add(HS_SAMPLE_CPU_CLOCK, 7, 1, 1000);
    add_cpu_samples(7, 10, 2);
    add(HS_SAMPLE_CPU_CLOCK, 7, 20, 1000);
    add_cpu_samples(7, 30, 2);
    add(HS_SAMPLE_CPU_CLOCK, 7, 40, 1080);
    add_cpu_samples(7, 50, 1);
    add(HS_SAMPLE_CPU_CLOCK, 7, 60, 1160);
    weigh(1000);
    ck_assert_uint_eq(count, 5);
    for (size_t i = 0; i < 4; i++)
        ck_assert_uint_eq(samples[i].weight, 20);
    ck_assert_uint_eq(samples[4].weight, 80);
}
END_TEST

START_TEST(clocks_across_a_pause_and_of_another_thread_mean_nothing)
{
    start();
    add(HS_SAMPLE_CPU_CLOCK, 7, 1, 1000);
    add_cpu_samples(7, 10, 20);
    add(HS_SAMPLE_CPU_CLOCK, 7, 40, 900000)->address = 1; // a pause
    add_cpu_samples(7, 50, 20);
    add(HS_SAMPLE_CPU_CLOCK, 7, 80, 90); // the number was given to another thread
    weigh(1000);
    ck_assert_uint_eq(sum_of(7), 40 * PERIOD);
}
END_TEST

START_TEST(times_off_the_processor_get_their_length)
{
    start();
    add(HS_SAMPLE_ON_CPU, 7, 50, 0); // of which the beginning is not known
    add(HS_SAMPLE_OFF_CPU, 8, 100, 1);
    add(HS_SAMPLE_OFF_CPU, 7, 110, 3); // it stands for three
    add(HS_SAMPLE_ON_CPU, 7, 150, 0);
    add(HS_SAMPLE_OFF_CPU, 7, 160, 1); // its end is missing
    add(HS_SAMPLE_OFF_CPU, 7, 170, 1);
    add(HS_SAMPLE_ON_CPU, 7, 175, 0);
    add(HS_SAMPLE_OFF_CPU, 9, 900, 1); // lasts at the end
    add(HS_SAMPLE_ON_CPU, 8, 130, 0);  // came from another processor's ring
    weigh(1000);
    ck_assert_uint_eq(count, 4);
    ck_assert_uint_eq(sum_of(8), 30);
    ck_assert_uint_eq(sum_of(7), 3 * 40 + 5);
    ck_assert_uint_eq(sum_of(9), 100);
    ck_assert_uint_eq(summary.off_cpu_samples, 4);
    ck_assert_uint_eq(summary.off_cpu_ns, 30 + 125 + 100);
}
END_TEST

START_TEST(a_return_that_seems_to_follow_the_next_leave)
{
    start();
    add(HS_SAMPLE_OFF_CPU, 7, 100000, 1);
    add(HS_SAMPLE_OFF_CPU, 7, 114000, 1);
    add(HS_SAMPLE_ON_CPU, 7, 114003, 0); // from the first time
    add(HS_SAMPLE_ON_CPU, 7, 118000, 0);
    add(HS_SAMPLE_OFF_CPU, 8, 100000, 1); // its end is missing
    add(HS_SAMPLE_OFF_CPU, 8, 200000, 1);
    add(HS_SAMPLE_ON_CPU, 8, 9000000, 0);
    add(HS_SAMPLE_ON_CPU, 8, 9000001, 0);
    weigh(10000000);
    ck_assert_uint_eq(sum_of(7), 14003 + 4000);
    ck_assert_uint_eq(sum_of(8), 8800000);
    ck_assert_uint_eq(summary.off_cpu_samples, 3);
}
END_TEST

START_TEST(what_may_have_ended_where_records_were_lost_is_left_out)
{
    start();
    add(HS_SAMPLE_OFF_CPU, 7, 100, 1);
    add(HS_SAMPLE_ON_CPU, 7, 140, 0);
    add(HS_SAMPLE_OFF_CPU, 7, 150, 1);
    add(HS_SAMPLE_ON_CPU, 0, 160, 0);
    add(HS_SAMPLE_ON_CPU, 7, 190, 0);
    add(HS_SAMPLE_OFF_CPU, 7, 200, 1);
    add(HS_SAMPLE_ON_CPU, 7, 210, 0);
    weigh(1000);
    ck_assert_uint_eq(count, 2);
    ck_assert_uint_eq(sum_of(7), 50);
}
END_TEST

// Anything may stand in a trace.
START_TEST(absurd_samples_do_no_harm)
{
    srand(5);
    for (int round = 0; round < 2000; round++) {
        start();
        for (unsigned i = 0; i < MOST; i++)
            add((uint32_t)rand() % 8, (uint32_t)rand() % 3, (uint64_t)rand() % 50 * (rand() % 2 ? 1 : UINT64_MAX / 64),
                (uint64_t)rand() % 3 * (UINT64_MAX / 3))
                ->address = (uint64_t)rand() % 2;
        weigh((uint64_t)rand());
        ck_assert_uint_le(count, MOST);
    }
    count = 0;
    weigh(0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sample_weights");
    TCase *cases = tcase_create("weights");
    tcase_add_test(cases, the_clock_of_a_thread_is_shared_out_among_its_samples);
    tcase_add_test(cases, a_new_thread_begins_with_nothing);
    tcase_add_test(cases, few_samples_are_shared_with_the_next_ones);
    tcase_add_test(cases, clocks_across_a_pause_and_of_another_thread_mean_nothing);
    tcase_add_test(cases, times_off_the_processor_get_their_length);
    tcase_add_test(cases, a_return_that_seems_to_follow_the_next_leave);
    tcase_add_test(cases, what_may_have_ended_where_records_were_lost_is_left_out);
    tcase_add_test(cases, absurd_samples_do_no_harm);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
