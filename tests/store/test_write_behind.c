// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Blocks that are written on a thread of their own: all of them, in order, also where there is no thread to be had.
#include "host/import/write_behind.h"
#include "tests/store/no_threads.h"
#include "tests/suite.h"

#include <check.h>
#include <errno.h>

#define BLOCKS 200

struct written {
    size_t count;
    uint64_t first[BLOCKS], time[BLOCKS];
    size_t fails_at; // this many blocks are written
};

static int write_one(void *context, struct hs_staged_block *block)
{
    struct written *written = context;
    if (written->count == written->fails_at)
        return -ENOSPC;
    written->first[written->count] = block->first;
    written->time[written->count++] = block->time[block->count - 1];
    return 0;
}

static int hand_over(struct hs_write_behind *behind, uint64_t number)
{
    struct hs_staged_block *block = hs_write_behind__empty_block(behind);
    ck_assert_ptr_nonnull(block);
    block->first = number * HS_PACKED_BLOCK;
    block->count = 1 + number % HS_PACKED_BLOCK;
    block->time[block->count - 1] = 3 * number;
    return hs_write_behind__hand_over(behind, block);
}

START_TEST(all_are_written_in_order)
{
    struct written written = {.fails_at = BLOCKS};
    no_threads = _i;
    struct hs_write_behind *behind = hs_write_behind__create(write_one, &written);
    for (uint64_t i = 0; i < BLOCKS; i++)
        ck_assert_int_eq(hand_over(behind, i), 0);
    ck_assert_int_eq(hs_write_behind__finish(behind), 0);
    ck_assert_uint_eq(written.count, BLOCKS);
    for (uint64_t i = 0; i < BLOCKS; i++) {
        ck_assert_uint_eq(written.first[i], i * HS_PACKED_BLOCK);
        ck_assert_uint_eq(written.time[i], 3 * i);
    }
    hs_write_behind__free(behind);
}
END_TEST

// It is heard of at the latest when all are written, and those behind it do not wait for ever.
START_TEST(an_error_is_told)
{
    struct written written = {.fails_at = 7};
    no_threads = _i;
    struct hs_write_behind *behind = hs_write_behind__create(write_one, &written);
    int failed = 0;
    for (uint64_t i = 0; i < BLOCKS; i++) {
        int result = hand_over(behind, i);
        ck_assert(!failed || result == failed); // it stays
        failed = result;
    }
    ck_assert_int_eq(failed, -ENOSPC);
    ck_assert_int_eq(hs_write_behind__finish(behind), -ENOSPC);
    ck_assert_uint_eq(written.count, 7);
    hs_write_behind__free(behind);
}
END_TEST

START_TEST(it_may_be_left_in_the_middle)
{
    struct written written = {.fails_at = BLOCKS};
    no_threads = _i;
    struct hs_write_behind *behind = hs_write_behind__create(write_one, &written);
    ck_assert_int_eq(hand_over(behind, 0), 0);
    ck_assert_ptr_nonnull(hs_write_behind__empty_block(behind));
    hs_write_behind__free(behind);
    ck_assert_uint_eq(written.count, 1);
    hs_write_behind__free(hs_write_behind__create(write_one, &written));
    hs_write_behind__free(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("write_behind");
    TCase *tests = tcase_create("write_behind");
    tcase_add_loop_test(tests, all_are_written_in_order, 0, 2);
    tcase_add_loop_test(tests, an_error_is_told, 0, 2);
    tcase_add_loop_test(tests, it_may_be_left_in_the_middle, 0, 2);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
