// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What samples say about all blocks: right on average, and as scattered as Poisson sampling has to be. Blocks are
// invented addresses; the sampler never touches them.
#include "runtime/prof/contexts.h"
#include "runtime/prof/sampler.h"
#include "runtime/prof/samples.h"
#include "runtime/prof/weight.h"
#include "tests/sampler/program_side.h"
#include "tests/suite.h"

#include <check.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BLOCKS = 3000, RUNS = 200, MEAN = 64 << 10 };

static uintptr_t next_address = 0x100000;

// What the interposed functions do. Returns the block.
static __attribute__((noinline)) void *allocate(size_t size)
{
    void *block = (void *)(next_address += 16);
    struct hs_sampler_thread *thread = hs_sampler_self;
    if (thread->allocated + size < thread->next) {
        thread->allocated += size;
        return block;
    }
    struct hs_registers caller;
    HS_CAPTURE_CALLER(&caller);
    hs_sampler__allocated_slowly(thread, &caller, block, size, size);
    return block;
}

static void release(void *block)
{
    if (hs_filter__may_hold((uintptr_t)block))
        hs_sampler__released_slowly(hs_sampler_self, NULL, (uintptr_t)block);
}

// Sizes from 16 bytes to 16 MEAN, few of the large ones.
static size_t mixed_size(unsigned i)
{
    static const size_t sizes[] = {16, 32, 48, 64, 200, 1000, 4096, 16, 24, 40, 20000, 128, 64 << 10, 512, 48, 1 << 20};
    return sizes[i % 16];
}

// What a reader makes of the numbers of a file: by how much it multiplies them.
static double read_weight(struct hs_written_counts written, double mean)
{
    return written.objects ? -1 / expm1(-(double)written.bytes / (double)written.objects / mean) : 0;
}

static double read_bytes(struct hs_written_counts written, double mean)
{
    return (double)written.bytes * read_weight(written, mean);
}

static double estimate(void)
{
    struct hs_profile_snapshot snapshot;
    ck_assert(hs_profile_snapshot__take(&snapshot, false));
    double bytes = (double)snapshot.live.estimated_bytes;
    struct hs_written_counts written = hs_counts__to_write(&snapshot.live, snapshot.sample_bytes);
    // A file has whole numbers of blocks: that much is lost.
    if (written.objects > 50)
        ck_assert_double_eq_tol(read_bytes(written, (double)snapshot.sample_bytes) / bytes, 1, 0.02);
    hs_profile_snapshot__free(&snapshot);
    return bytes;
}

START_TEST(estimates_are_unbiased)
{
    test_options("lg_prof_sample:16");
    ck_assert_uint_eq(MEAN, 1 << 16);
    double truth = 0, variance = 0, sum = 0, squares = 0;
    for (unsigned i = 0; i < BLOCKS; i++) {
        double size = (double)mixed_size(i), probability = -expm1(size * log1p(-1. / MEAN));
        truth += size;
        variance += size * size * (1 - probability) / probability;
    }
    for (int run = 0; run < RUNS; run++) {
        hs_sampler__reset();
        for (unsigned i = 0; i < BLOCKS; i++)
            allocate(mixed_size(i));
        double estimated = estimate();
        sum += estimated;
        squares += (estimated - truth) * (estimated - truth);
    }
    printf("truth %.0f, mean of the estimates %.0f (%+.2f %%), spread %.0f, predicted %.0f\n", truth, sum / RUNS,
           (sum / RUNS / truth - 1) * 100, sqrt(squares / RUNS), sqrt(variance));
    ck_assert_double_eq_tol(sum / RUNS / truth, 1, 0.01);
    // The spread of RUNS estimates is known to 1 / sqrt(2 RUNS): three times that.
    ck_assert_double_eq_tol(sqrt(squares / RUNS / variance), 1, 3 / sqrt(2. * RUNS));
}
END_TEST

// A small block, and one that needs a part of a block more than a file can say.
START_TEST(readers_get_the_estimated_number_of_blocks)
{
    const uint64_t mean = 512 << 10;
    static const uint64_t sizes[] = {16, 100, 1000, 10000, 65536, 200000};
    test_options("lg_prof_sample:19");
    for (unsigned small = 0; small < 5; small++) {
        for (unsigned i = small; i < 6; i++) {
            struct hs_counts counts = {0, 0, 0, 0};
            const uint64_t both[] = {sizes[small], sizes[i]};
            for (unsigned n = 0; n < 2; n++) {
                uint64_t blocks = hs_weight__blocks_q16(both[n], mean);
                counts.objects++;
                counts.bytes += both[n];
                counts.estimated_objects_q16 += blocks;
                counts.estimated_bytes += hs_weight__multiply(blocks, both[n], 16);
            }
            struct hs_written_counts written = hs_counts__to_write(&counts, mean);
            double weight = read_weight(written, (double)mean);
            double blocks = (double)written.objects * weight * 65536 / (double)counts.estimated_objects_q16;
            double bytes = (double)written.bytes * weight / (double)counts.estimated_bytes;
            printf("%5ju and %6ju bytes: blocks %.3f times as many, bytes %.3f\n", (uintmax_t)both[0],
                   (uintmax_t)both[1], blocks, bytes);
            ck_assert_double_eq_tol(blocks, 1, 0.005);
            ck_assert_double_eq_tol(bytes, 1, 0.1);
        }
    }
}
END_TEST

// As the sum of all that a program has allocated in years. More is written as the largest number.
START_TEST(readers_get_the_estimate_of_very_many_bytes)
{
    const uint64_t size = 1ull << 40, mean = 512 << 10, most = 1ull << 56;
    test_options("lg_prof_sample:19");
    for (uint64_t objects = 1; objects < 1 << 24; objects *= 2) {
        const struct hs_counts counts = {objects, objects * size, objects << 16, objects * size};
        struct hs_written_counts written = hs_counts__to_write(&counts, mean);
        ck_assert_uint_eq(written.objects, objects);
        ck_assert_uint_eq(written.bytes, objects * size < most ? objects * size : most);
    }
}
END_TEST

START_TEST(a_changed_rate_keeps_what_was_sampled)
{
    test_options("lg_prof_sample:12");
    double truth = 0;
    for (unsigned i = 0; i < 20 * BLOCKS; i++) {
        if (i == 10 * BLOCKS)
            hs_sampler__set_rate(100000);
        truth += (double)mixed_size(i);
        allocate(mixed_size(i));
    }
    ck_assert_double_eq_tol(estimate() / truth, 1, 0.03);
}
END_TEST

START_TEST(everything_is_sampled_and_given_back_at_rate_one)
{
    test_options("lg_prof_sample:0");
    void *blocks[1000];
    uint64_t bytes = 0;
    struct hs_profile_snapshot snapshot;
    for (unsigned i = 0; i < 1000; i++) {
        blocks[i] = allocate(mixed_size(i));
        bytes += mixed_size(i);
    }
    ck_assert(hs_profile_snapshot__take(&snapshot, false));
    ck_assert_uint_eq(snapshot.live.objects, 1000);
    ck_assert_uint_eq(snapshot.live.bytes, bytes);
    ck_assert_uint_eq(snapshot.stack_count, 1);
    ck_assert_uint_eq(snapshot.thread_count, 1);
    ck_assert_uint_eq(snapshot.threads[0].live.objects, 1000);
    hs_profile_snapshot__free(&snapshot);
    for (unsigned i = 0; i < 1000; i++)
        release(blocks[i]);
    ck_assert(hs_profile_snapshot__take(&snapshot, false));
    ck_assert_uint_eq(snapshot.live.objects + snapshot.live.bytes + snapshot.live.estimated_bytes, 0);
    ck_assert_uint_eq(snapshot.pair_count, 0);
    hs_profile_snapshot__free(&snapshot);
    ck_assert(hs_profile_snapshot__take(&snapshot, true));
    ck_assert_uint_eq(snapshot.total.objects, 1000);
    hs_profile_snapshot__free(&snapshot);
}
END_TEST

START_TEST(a_rate_that_was_endless_ends_at_once)
{
    test_options("lg_prof_sample:0");
    hs_sampler__start();
    hs_sampler__set_rate(1ull << 63);
    for (int i = 0; i < 1000; i++)
        allocate(1000);
    hs_sampler__set_rate(1);
    for (int i = 0; i < 1000; i++)
        allocate(1000);
    ck_assert_uint_eq(hs_samples__count(), 1000);
}
END_TEST

START_TEST(an_inactive_profiler_takes_nothing_and_an_active_one_goes_on)
{
    test_options("lg_prof_sample:0");
    allocate(10);
    ck_assert(hs_sampler__set_active(false));
    allocate(10);
    ck_assert(!hs_sampler__set_active(true));
    allocate(10);
    ck_assert_uint_eq(hs_samples__count(), 2);
}
END_TEST

static void *allocate_in_thread(void *data)
{
    for (int i = 0; i < 100; i++)
        release(allocate(100));
    return *(void **)data = allocate(50);
}

START_TEST(threads_that_have_ended_keep_what_lives)
{
    test_options("lg_prof_sample:0");
    enum { THREADS = 300 };
    void *blocks[THREADS];
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        ck_assert_int_eq(pthread_create(&thread, NULL, allocate_in_thread, &blocks[i]), 0);
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
        if (i % 3)
            release(blocks[i]);
    }
    struct hs_profile_snapshot snapshot;
    ck_assert(hs_profile_snapshot__take(&snapshot, false));
    ck_assert_uint_eq(snapshot.live.objects, THREADS / 3);
    ck_assert_uint_ge(snapshot.thread_count, THREADS / 3);
    for (uint32_t i = 1; i < snapshot.thread_count; i++)
        ck_assert_uint_lt(snapshot.threads[i - 1].uid, snapshot.threads[i].uid);
    // Records of the others were used again.
    ck_assert_uint_lt(hs_sampler__thread_count(), THREADS);
    hs_profile_snapshot__free(&snapshot);
}
END_TEST

static __attribute__((noinline, noclone)) void *allocate_here(void)
{
    void *block = allocate(100);
    __asm__ volatile("" : : "r"(block) : "memory");
    return block;
}

START_TEST(stacks_lead_to_the_caller)
{
    test_options("lg_prof_sample:0");
    struct hs_profile_snapshot snapshot;
    ck_assert_ptr_nonnull(allocate_here());
    ck_assert(hs_profile_snapshot__take(&snapshot, false));
    ck_assert_uint_eq(snapshot.pair_count, 1);
    uintptr_t frames[128];
    bool cut;
    uint32_t count = hs_profile_snapshot__frames(snapshot.pairs[0].stack, frames, 128, &cut);
    ck_assert_uint_gt(count, 2);
    ck_assert(!cut);
    uintptr_t here = (uintptr_t)allocate_here & ~(uintptr_t)1; // without the Thumb bit
    ck_assert(frames[0] - here < 256);
    hs_profile_snapshot__free(&snapshot);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("estimates");
    TCase *all = tcase_create("all");
    tcase_add_test(all, estimates_are_unbiased);
    tcase_add_test(all, readers_get_the_estimated_number_of_blocks);
    tcase_add_test(all, readers_get_the_estimate_of_very_many_bytes);
    tcase_add_test(all, a_changed_rate_keeps_what_was_sampled);
    tcase_add_test(all, everything_is_sampled_and_given_back_at_rate_one);
    tcase_add_test(all, a_rate_that_was_endless_ends_at_once);
    tcase_add_test(all, an_inactive_profiler_takes_nothing_and_an_active_one_goes_on);
    tcase_add_test(all, threads_that_have_ended_keep_what_lives);
    tcase_add_test(all, stacks_lead_to_the_caller);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
