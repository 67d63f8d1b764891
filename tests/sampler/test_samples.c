// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The table of live samples and its filter, against an array.
#include "runtime/config.h"
#include "runtime/prof/samples.h"
#include "tests/suite.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct hs_config hs_config;

enum { ADDRESSES = 50000, STEPS = 400000 };

static uint32_t index_of[ADDRESSES]; // 0: no sample

static uintptr_t address_of(unsigned i)
{
    return 0x10000 + (uintptr_t)i * 48;
}

static void enter(unsigned i)
{
    struct hs_sample sample = {.block = address_of(i), .usable = i};
    uint32_t stale;
    uint32_t index = hs_samples__insert(&sample, &stale);
    ck_assert_uint_ne(index, 0);
    ck_assert_uint_eq(stale, index_of[i]);
    if (stale)
        hs_samples__free(stale);
    index_of[i] = index;
}

static void leave(unsigned i)
{
    uint32_t index = hs_samples__take(address_of(i));
    ck_assert_uint_eq(index, index_of[i]);
    if (!index)
        return;
    ck_assert_uint_eq(hs_samples__at(index)->usable, i);
    index_of[i] = 0;
    if (i % 7) {
        hs_samples__free(index);
        return;
    }
    hs_samples__put_back(index);
    index_of[i] = index;
}

static void check_all(void)
{
    uint32_t count = 0;
    for (unsigned i = 0; i < ADDRESSES; i++) {
        count += index_of[i] != 0;
        if (index_of[i])
            ck_assert(hs_filter__may_hold(address_of(i)));
    }
    ck_assert_uint_eq(hs_samples__count(), count);
}

START_TEST(the_table_is_what_an_array_says)
{
    printf("seed 1\n");
    srandom(1);
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned i = (unsigned)random() % ADDRESSES;
        if (random() % 5 < 3)
            enter(i);
        else
            leave(i);
        if (step % 50000 == 0)
            check_all();
    }
    check_all();
}
END_TEST

START_TEST(few_blocks_pass_the_filter_when_few_are_samples)
{
    hs_samples__forget();
    for (unsigned i = 0; i < ADDRESSES; i++)
        ck_assert(!hs_filter__may_hold(address_of(i)));
    for (unsigned i = 0; i < ADDRESSES; i++)
        index_of[i] = 0;
    for (unsigned i = 0; i < ADDRESSES; i += 50)
        enter(i);
    unsigned passed = 0;
    for (unsigned i = 0; i < ADDRESSES; i++)
        passed += hs_filter__may_hold(address_of(i));
    ck_assert_uint_lt(passed, ADDRESSES / 5);
}
END_TEST

// The first hash value is the same for all of these and for 4,000 others.
START_TEST(samples_in_pages_of_their_own_do_not_stop_all_such_blocks)
{
    hs_samples__forget();
    for (unsigned i = 0; i < 200; i++) {
        struct hs_sample sample = {.block = 0x7f0000000010 + (uintptr_t)i * 40 * 65536};
        uint32_t stale;
        ck_assert_uint_ne(hs_samples__insert(&sample, &stale), 0);
    }
    unsigned passed = 0;
    for (unsigned i = 0; i < 4000; i++)
        passed += i % 40 != 0 && hs_filter__may_hold(0x7f0000000010 + (uintptr_t)i * 65536);
    ck_assert_uint_lt(passed, 800);
}
END_TEST

START_TEST(null_is_stopped_and_is_no_sample)
{
    hs_filter__start();
    struct hs_filter *first = atomic_load(&hs_filter);
    ck_assert(hs_filter__stops(first, 0));
    ck_assert(!hs_filter__may_hold(0));
    hs_samples__forget();
    ck_assert(hs_filter__stops(first, 0));
    for (unsigned i = 0; i < ADDRESSES; i++)
        index_of[i] = 0;
    for (unsigned i = 0; i < ADDRESSES; i++)
        enter(i);
    ck_assert_ptr_ne(first, atomic_load(&hs_filter));
    ck_assert(hs_filter__stops(atomic_load(&hs_filter), 0));
    for (unsigned i = 0; i < ADDRESSES; i++)
        ck_assert(hs_filter__stops(atomic_load(&hs_filter), address_of(i)));
    ck_assert(hs_filter__stops(&hs_filter_of_all, address_of(1)) && hs_filter__stops(&hs_filter_of_all, 0));
}
END_TEST

START_TEST(held_addresses_stay)
{
    hs_filter__hold_always(0x7000);
    ck_assert(hs_filter__may_hold(0x7000));
    hs_samples__forget();
    ck_assert(hs_filter__may_hold(0x7000));
    ck_assert_uint_eq(hs_samples__take(0x7000), 0);
    ck_assert(hs_filter__may_hold(0x7000));
}
END_TEST

START_TEST(samples_beyond_the_memory_are_refused)
{
    uint32_t stale;
    hs_config.memory = 64 << 10;
    while (hs_samples__insert(&(struct hs_sample){.block = address_of(hs_samples__count())}, &stale))
        ck_assert_uint_lt(hs_samples__count(), ADDRESSES);
    uint32_t count = hs_samples__count(), taken = hs_samples__take(address_of(7));
    ck_assert_uint_ge(count, 100);
    ck_assert_uint_le(count * sizeof(struct hs_sample), hs_config.memory / 8);
    ck_assert_uint_ne(taken, 0);
    hs_samples__free(taken); // makes room for another one
    ck_assert_uint_ne(hs_samples__insert(&(struct hs_sample){.block = address_of(count + 1)}, &stale), 0);
    ck_assert_uint_eq(hs_samples__insert(&(struct hs_sample){.block = address_of(count + 2)}, &stale), 0);
}
END_TEST

// Threads get a larger filter only with a block that was added.
START_TEST(a_refused_sample_does_not_enlarge_the_filter)
{
    enum { KEPT = 127 };
    uint32_t stale, count = 0, refused_from;
    hs_config.memory = 280 << 10;
    refused_from = (uint32_t)(hs_config.memory / 8 / sizeof(struct hs_sample));
    for (; count < refused_from; count++) {
        ck_assert_uint_ne(hs_samples__insert(&(struct hs_sample){.block = address_of(count)}, &stale), 0);
        if (count >= KEPT && count + 1 < refused_from)
            ck_assert_uint_ne(hs_samples__take(address_of(count)), 0); // not released: a realloc goes on
    }
    const struct hs_filter *before = atomic_load(&hs_filter);
    ck_assert_uint_eq(hs_samples__insert(&(struct hs_sample){.block = address_of(count)}, &stale), 0);
    ck_assert_ptr_eq(before, atomic_load(&hs_filter));
}
END_TEST

// ---- threads --------------------------------------------------------------------------------------------------------

enum { THREADS = 4, BLOCKS = 20000, ROUNDS = 150000 };
enum state { FREE, BUSY, PLAIN, SAMPLE };

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct hs_filter *) copies[THREADS]; // as in the records of threads
static _Atomic enum state states[BLOCKS];           // the model
static _Atomic unsigned faults;

static void add_sample(uintptr_t block)
{
    uint32_t stale = 0;
    pthread_mutex_lock(&table_lock);
    faults += !hs_samples__insert(&(struct hs_sample){.block = block}, &stale) || stale;
    for (unsigned i = 0; i < THREADS; i++)
        atomic_store_explicit(&copies[i], atomic_load(&hs_filter), memory_order_release);
    pthread_mutex_unlock(&table_lock);
}

// As free() does it.
static void release_block(unsigned number, uintptr_t block, bool is_sample)
{
    const struct hs_filter *copy = atomic_load_explicit(&copies[number], memory_order_relaxed);
    if (!hs_filter__stops(copy, block) || !hs_filter__may_hold(block)) {
        faults += is_sample;
        return;
    }
    pthread_mutex_lock(&table_lock);
    uint32_t index = hs_samples__take(block);
    faults += (index != 0) != is_sample;
    if (index)
        hs_samples__free(index);
    pthread_mutex_unlock(&table_lock);
}

// Any thread allocates and frees any block. There are many samples, then few, then many.
static void *take_part(void *argument)
{
    unsigned number = (unsigned)(uintptr_t)argument, seed = 7 + number;
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned i = (unsigned)rand_r(&seed) % BLOCKS;
        uintptr_t block = 0x10000000 + (uintptr_t)i * 0x1000; // many have the same bit
        enum state state = atomic_exchange(&states[i], BUSY);
        if (state == BUSY)
            continue;
        if (state != FREE) {
            release_block(number, block, state == SAMPLE);
            atomic_store(&states[i], FREE);
            continue;
        }
        state = (unsigned)rand_r(&seed) % 16 < (round / (ROUNDS / 3) == 1 ? 1 : 12) ? SAMPLE : PLAIN;
        if (state == SAMPLE)
            add_sample(block);
        atomic_store(&states[i], state);
    }
    return NULL;
}

START_TEST(no_free_of_a_sample_passes_the_filter)
{
    pthread_t threads[THREADS];
    uint32_t count = 0;
    hs_filter__start();
    for (unsigned i = 0; i < THREADS; i++)
        atomic_store(&copies[i], atomic_load(&hs_filter));
    for (uintptr_t i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, take_part, (void *)i), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_uint_eq(faults, 0);
    for (unsigned i = 0; i < BLOCKS; i++)
        count += states[i] == SAMPLE;
    ck_assert_uint_eq(hs_samples__count(), count);
    ck_assert_uint_gt(count, 4096 / 32); // the filter was enlarged
}
END_TEST

START_TEST(the_filter_stays_within_the_memory)
{
    uint32_t stale;
    hs_config.memory = 1 << 20;
    for (unsigned i = 0; i < 3000; i++)
        ck_assert_uint_ne(hs_samples__insert(&(struct hs_sample){.block = address_of(i)}, &stale), 0);
    uintptr_t slots = hs_filter_last_slot(atomic_load(&hs_filter)) + 1;
    ck_assert_uint_ge(slots, 16384);
    ck_assert_uint_le(slots * 2 + slots / 8, hs_config.memory / 16);
    for (unsigned i = 0; i < 3000; i++)
        ck_assert(hs_filter__may_hold(address_of(i)));
}
END_TEST

// What a free reads for few samples stays in the first-level cache.
START_TEST(the_first_level_is_small_while_few_samples_live)
{
    static const struct {
        unsigned samples, bytes;
    } cases[] = {{1, 512}, {128, 512}, {129, 1024}, {4096, 16384}};
    uint32_t stale;
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        while (hs_samples__count() < cases[i].samples)
            ck_assert_uint_ne(hs_samples__insert(&(struct hs_sample){.block = address_of(hs_samples__count())}, &stale),
                              0);
        ck_assert_uint_eq((atomic_load(&hs_filter)->mask + 1) * sizeof(uint32_t), cases[i].bytes);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("samples");
    TCase *all = tcase_create("all");
    tcase_add_test(all, the_table_is_what_an_array_says);
    tcase_add_test(all, few_blocks_pass_the_filter_when_few_are_samples);
    tcase_add_test(all, samples_in_pages_of_their_own_do_not_stop_all_such_blocks);
    tcase_add_test(all, null_is_stopped_and_is_no_sample);
    tcase_add_test(all, held_addresses_stay);
    tcase_add_test(all, samples_beyond_the_memory_are_refused);
    tcase_add_test(all, a_refused_sample_does_not_enlarge_the_filter);
    tcase_add_test(all, no_free_of_a_sample_passes_the_filter);
    tcase_add_test(all, the_filter_stays_within_the_memory);
    tcase_add_test(all, the_first_level_is_small_while_few_samples_live);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
