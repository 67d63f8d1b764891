// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Frees of samples that cannot take the table's lock: they are not lost, and they do not hit the next block with the
// address. Blocks are invented addresses, every one is a sample.
#include "runtime/prof/contexts.h"
#include "runtime/prof/sampler.h"
#include "runtime/stacks.h"
#include "tests/sampler/program_side.h"
#include "tests/suite.h"

#include <check.h>
#include <pthread.h>
#include <stdint.h>

static __attribute__((noinline)) void allocate(uintptr_t block)
{
    struct hs_registers caller;
    HS_CAPTURE_CALLER(&caller);
    hs_sampler__allocated_slowly(hs_sampler_self, &caller, (void *)block, 100, 100);
}

static void release(uintptr_t block)
{
    ck_assert(hs_filter__may_hold(block));
    hs_sampler__released_slowly(hs_sampler_self, NULL, block);
}

static uint64_t live_samples(void)
{
    struct hs_profile_snapshot snapshot;
    ck_assert(hs_profile_snapshot__take(&snapshot, false));
    uint64_t live = snapshot.live.objects;
    hs_profile_snapshot__free(&snapshot);
    return live;
}

static void begin(unsigned blocks)
{
    test_options("lg_prof_sample:0");
    for (unsigned i = 1; i <= blocks; i++)
        allocate(0x1000 * i);
    ck_assert_uint_eq(live_samples(), blocks);
}

START_TEST(a_handler_that_interrupted_the_owner_frees)
{
    begin(10);
    ck_assert(hs_table__lock());
    for (unsigned i = 1; i <= 8; i++)
        release(0x1000 * i);
    hs_table__unlock();
    ck_assert_uint_eq(live_samples(), 2);
}
END_TEST

START_TEST(a_handler_that_interrupted_the_owner_reallocates)
{
    begin(10);
    ck_assert(hs_table__lock());
    for (unsigned i = 1; i <= 8; i++)
        hs_sampler__drop(hs_sampler_self, hs_sampler__take(hs_sampler_self, 0x1000 * i));
    hs_table__unlock();
    ck_assert_uint_eq(live_samples(), 2);
}
END_TEST

// The handler comes when the owner looks for no more frees and has not yet released the lock.
START_TEST(the_next_block_with_the_address_stays)
{
    begin(1);
    ck_assert(hs_table__lock());
    release(0x1000);
    hs_lock__release(&hs_table_lock);
    allocate(0x1000);
    ck_assert_uint_eq(live_samples(), 1);
    release(0x1000);
    ck_assert_uint_eq(live_samples(), 0);
}
END_TEST

static pthread_barrier_t barrier;

static void *own_the_lock(void *unused)
{
    ck_assert(hs_table__lock());
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    hs_table__unlock();
    return unused;
}

START_TEST(a_thread_that_does_not_get_the_lock_frees)
{
    pthread_t owner;
    begin(2);
    pthread_barrier_init(&barrier, NULL, 2);
    ck_assert_int_eq(pthread_create(&owner, NULL, own_the_lock, NULL), 0);
    pthread_barrier_wait(&barrier);
    release(0x1000); // ends when its patience does
    pthread_barrier_wait(&barrier);
    pthread_join(owner, NULL);
    ck_assert_uint_eq(live_samples(), 1);
    allocate(0x1000);
    ck_assert_uint_eq(live_samples(), 2);
}
END_TEST

START_TEST(a_handler_that_interrupted_the_owner_forks)
{
    begin(1);
    ck_assert(hs_table__lock());
    hs_sampler__after_fork(false, hs_sampler__before_fork());
    ck_assert(hs_table__is_ours());
    hs_table__unlock();
    uint64_t locks = hs_sampler__before_fork(); // is itself interrupted
    hs_sampler__after_fork(false, hs_sampler__before_fork());
    ck_assert(hs_table__is_ours());
    hs_sampler__after_fork(false, locks);
    ck_assert(!hs_table__is_ours());
    ck_assert_uint_eq(live_samples(), 1);
}
END_TEST

// As of two threads, of which one waited for the locks in vain.
START_TEST(forks_end_in_the_order_in_which_they_began)
{
    begin(1);
    uint64_t first = hs_sampler__before_fork(), second = hs_sampler__before_fork();
    hs_sampler__after_fork(false, first);
    ck_assert(!hs_table__is_ours());
    ck_assert(hs_table__lock());
    hs_sampler__after_fork(false, second);
    ck_assert(hs_table__is_ours());
    hs_table__unlock();
}
END_TEST

START_TEST(a_handler_that_interrupted_the_owner_of_the_stacks_forks)
{
    begin(1);
    uint32_t tid = hs_sampler_self->tid;
    ck_assert(hs_stacks__lock(tid));
    hs_sampler__after_fork(false, hs_sampler__before_fork());
    ck_assert(!hs_table__is_ours());
    ck_assert(!hs_stacks__try_lock(tid));
    hs_stacks__unlock();
    ck_assert(hs_stacks__try_lock(tid));
    hs_stacks__unlock();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("left");
    TCase *all = tcase_create("all");
    tcase_add_test(all, a_handler_that_interrupted_the_owner_frees);
    tcase_add_test(all, a_handler_that_interrupted_the_owner_reallocates);
    tcase_add_test(all, the_next_block_with_the_address_stays);
    tcase_add_test(all, a_thread_that_does_not_get_the_lock_frees);
    tcase_add_test(all, a_handler_that_interrupted_the_owner_forks);
    tcase_add_test(all, forks_end_in_the_order_in_which_they_began);
    tcase_add_test(all, a_handler_that_interrupted_the_owner_of_the_stacks_forks);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
