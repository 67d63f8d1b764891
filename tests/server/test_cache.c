// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/cache.h"
#include "tests/suite.h"

#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 16, ROUNDS = 2000, KEYS = 50 };

static int made, destroyed;
static int fail_with;

static int make(void *context, void **value, size_t *bytes, struct hs_error *error)
{
    __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
    if (fail_with) {
        *value = context; // which nobody may free
        return hs_error__set(error, fail_with, "refused");
    }
    int *number = malloc(sizeof(*number));
    *number = *(const int *)context;
    *value = number;
    *bytes = 1000;
    return 0;
}

static void destroy(void *value)
{
    __atomic_fetch_add(&destroyed, 1, __ATOMIC_RELAXED);
    free(value);
}

static int get(struct hs_cache *cache, int number)
{
    char key[16];
    struct hs_cached *cached;
    const struct hs_cache_maker maker = {make, &number, destroy};
    snprintf(key, sizeof(key), "%d", number);
    int result = hs_cache__get(cache, key, &maker, &cached, NULL);
    if (result)
        return result;
    int value = *(int *)hs_cached__value(cached);
    hs_cache__release(cache, cached);
    return value == number ? 0 : -EBADMSG;
}

START_TEST(what_is_known_is_not_made_again)
{
    struct hs_cache *cache = hs_cache__create(1 << 20);
    ck_assert_int_eq(get(cache, 1), 0);
    ck_assert_int_eq(get(cache, 1), 0);
    ck_assert_int_eq(made, 1);
    hs_cache__forget(cache, "1");
    ck_assert_int_eq(destroyed, 1);
    ck_assert_int_eq(get(cache, 1), 0);
    ck_assert_int_eq(made, 2);
    hs_cache__destroy(cache);
    ck_assert_int_eq(destroyed, 2);
}
END_TEST

START_TEST(it_stays_within_its_bounds)
{
    struct hs_cache *cache = hs_cache__create(10 * 1200);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(get(cache, i), 0);
    ck_assert_int_ge(destroyed, 85);
    int before = made;
    ck_assert_int_eq(get(cache, 99), 0);
    ck_assert_int_eq(made, before);
    ck_assert_int_eq(get(cache, 0), 0);
    ck_assert_int_eq(made, before + 1);
    hs_cache__destroy(cache);
    ck_assert_int_eq(destroyed, made);
}
END_TEST

START_TEST(what_is_held_stays)
{
    int number = 7;
    struct hs_cached *cached;
    struct hs_cache *cache = hs_cache__create(2000);
    const struct hs_cache_maker maker = {make, &number, destroy};
    ck_assert_int_eq(hs_cache__get(cache, "held", &maker, &cached, NULL), 0);
    for (int i = 0; i < 20; i++)
        get(cache, i);
    hs_cache__forget(cache, "");
    ck_assert_int_eq(*(int *)hs_cached__value(cached), 7);
    hs_cache__release(cache, cached);
    hs_cache__destroy(cache);
    ck_assert_int_eq(destroyed, made);
}
END_TEST

START_TEST(a_failure_is_not_kept)
{
    struct hs_cache *cache = hs_cache__create(1 << 20);
    fail_with = EINVAL;
    ck_assert_int_eq(get(cache, 1), -EINVAL);
    fail_with = 0;
    ck_assert_int_eq(get(cache, 1), 0);
    hs_cache__destroy(cache);
}
END_TEST

static void *ask(void *context)
{
    unsigned seed = 1;
    for (int i = 0; i < ROUNDS; i++) {
        seed = seed * 1103515245u + 12345u;
        if (get(context, (int)(seed >> 16) % KEYS))
            return context;
        if (i % 500 == 0)
            hs_cache__forget(context, "1");
    }
    return NULL;
}

START_TEST(many_ask_at_once)
{
    pthread_t thread[THREADS];
    struct hs_cache *cache = hs_cache__create(KEYS / 2 * 1200);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, ask, cache), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(thread[i], &failed);
        ck_assert_ptr_null(failed);
    }
    hs_cache__destroy(cache);
    ck_assert_int_eq(destroyed, made);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cache");
    TCase *all = tcase_create("all");
    tcase_add_test(all, what_is_known_is_not_made_again);
    tcase_add_test(all, it_stays_within_its_bounds);
    tcase_add_test(all, what_is_held_stays);
    tcase_add_test(all, a_failure_is_not_kept);
    tcase_add_test(all, many_ask_at_once);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
