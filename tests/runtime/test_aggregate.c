// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The tables of sums against models: blocks by address, and stacks with what a trace was told of them.
#include "random.h"

#include "runtime/aggregate/blocks.h"
#include "runtime/aggregate/stack_aggregates.h"
#include "runtime/config.h"
#include "runtime/output.h"
#include "tests/suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

struct hs_config hs_config;
static struct hs_live live;

struct hs_live *hs_output__live(void)
{
    return &live;
}

static void setup(void)
{
    hs_config.aggregate_memory = 64 << 20;
    hs_config.aggregate_stacks = 16;
    memset(&live, 0, sizeof live);
}

static void teardown(void)
{
    hs_blocks__reset();
    hs_stack_aggregates__reset();
}

// ---- blocks ----

enum { ADDRESSES = 3000, STEPS = 100000, POOL = 7 };

static struct hs_aggregate_block block_at(uint32_t index, uint64_t time)
{
    bool pool = index % 3 == 0;
    return (struct hs_aggregate_block){.time = time,
                                       .address = 0x10000 + (uintptr_t)(index / 3) * 16, // of the heap, and of pools
                                       .size = index,
                                       .stack = (index % 1000) + (pool ? HS_BLOCK_OF_POOL : 0),
                                       .other = pool ? POOL : index % 3};
}

static bool holds(const struct hs_aggregate_block *found, const struct hs_aggregate_block *wanted)
{
    return found->address == wanted->address && found->time == wanted->time && found->size == wanted->size &&
           found->stack == wanted->stack;
}

START_TEST(blocks_are_what_a_model_says)
{
    static struct hs_aggregate_block model[ADDRESSES];
    struct random_numbers numbers = random_from(11);
    memset(model, 0, sizeof model);
    for (uint64_t time = 1; time <= STEPS; time++) {
        uint32_t index = (uint32_t)random_below(&numbers, ADDRESSES) / 3 * 3 + (uint32_t)random_below(&numbers, 2);
        struct hs_aggregate_block block = block_at(index, time);
        struct hs_aggregate_block *place = hs_blocks__find(&block);
        ck_assert_ptr_nonnull(place);
        if (model[index].address)
            ck_assert(holds(place, &model[index]));
        else
            ck_assert_uint_eq(place->address, 0);
        switch (random_below(&numbers, 4)) {
        case 0:
            if (place->address)
                hs_blocks__take_out(place);
            model[index] = (struct hs_aggregate_block){0};
            break;
        case 1:
            block.stack |= HS_BLOCK_OVER;
            // fall through
        default:
            hs_blocks__fill(place, &block);
            model[index] = block;
        }
        if (random_below(&numbers, 5000))
            continue;
        uint64_t before = time - random_below(&numbers, 3000) % time;
        hs_blocks__sweep(before);
        for (uint32_t i = 0; i < ADDRESSES; i++)
            if (hs_aggregate_block__is_over(&model[i]) && model[i].time < before)
                model[i] = (struct hs_aggregate_block){0};
    }
}
END_TEST

START_TEST(blocks_keep_within_their_memory)
{
    uint32_t count = 0;
    hs_config.aggregate_memory = 1 << 20;
    for (;; count++) {
        struct hs_aggregate_block block = {.time = 1, .address = 16 * (uintptr_t)(count + 1), .stack = 1};
        struct hs_aggregate_block *place = hs_blocks__find(&block);
        if (!place)
            break;
        hs_blocks__fill(place, &block);
        ck_assert_uint_le(hs_blocks__memory(), hs_config.aggregate_memory);
    }
    ck_assert_uint_gt(count, 10000);
    for (uint32_t i = 0; i < count; i++) {
        struct hs_aggregate_block block = {.address = 16 * (uintptr_t)(i + 1)};
        ck_assert_uint_eq(hs_blocks__find(&block)->address, block.address);
    }
}
END_TEST

// ---- stacks ----

enum { STACKS = 400, TICKS = 600, ADDED = 200 };

static uint64_t emitted[STACKS + 1][HS_SUM_COUNT], truth[STACKS + 1][HS_SUM_COUNT], sum[HS_SUM_COUNT];
static uint32_t unnamed; // this stack cannot be named now

static uint32_t name_of(uint32_t stack)
{
    return stack == unnamed ? 0 : stack;
}

static void hear(const struct hs_aggregate_record *record)
{
    ck_assert_uint_le(record->stack, STACKS);
    for (unsigned i = 0; i < HS_SUM_COUNT; i++)
        emitted[record->stack][i] += record->change[i];
}

static void add(uint32_t stack, enum hs_sum first, size_t size, uint32_t slack)
{
    hs_stack_aggregates__add(HS_AGGREGATE_HEAP, stack, first, size, slack);
    uint64_t values[3] = {1, size, slack};
    for (unsigned i = 0; i < (first == HS_SUM_TEMPORARY_COUNT ? 2 : 3); i++) {
        truth[stack][first + i] += values[i];
        sum[first + i] += values[i];
    }
}

// Those from `first` on allocate most.
static void add_some(struct random_numbers *numbers, uint32_t first, uint32_t stacks)
{
    for (unsigned i = 0; i < ADDED; i++) {
        uint32_t stack = (uint32_t)(random_below(numbers, stacks) * random_below(numbers, stacks) / stacks);
        stack = (stack + first) % stacks;
        size_t size = random_below(numbers, stack % 7 ? 100 : 10000);
        add(stack, HS_SUM_ALLOCATED_COUNT, size, 8);
        if (random_below(numbers, 3) == 0)
            continue;
        add(stack, HS_SUM_FREED_COUNT, size, 8);
        if (random_below(numbers, 2))
            add(stack, HS_SUM_TEMPORARY_COUNT, size, 8);
    }
}

// Every stack is told as it is, or is part of stack 0 as a whole; together it is everything.
static uint32_t check_emitted(void)
{
    uint64_t all[HS_SUM_COUNT] = {0};
    uint32_t apart = 0;
    for (uint32_t stack = 0; stack <= STACKS; stack++) {
        static const uint64_t nothing[HS_SUM_COUNT];
        bool is_emitted = memcmp(emitted[stack], nothing, sizeof nothing) != 0;
        if (stack && is_emitted)
            ck_assert_int_eq(memcmp(emitted[stack], truth[stack], sizeof nothing), 0);
        apart += stack && is_emitted;
        for (unsigned i = 0; i < HS_SUM_COUNT; i++)
            all[i] += emitted[stack][i];
    }
    ck_assert_int_eq(memcmp(all, sum, sizeof all), 0);
    return apart;
}

static bool has_share(uint64_t value, uint64_t all)
{
    return value && value >= all / hs_config.aggregate_stacks;
}

static uint64_t live_of(const uint64_t *sums)
{
    return sums[HS_SUM_ALLOCATED_BYTES] - sums[HS_SUM_FREED_BYTES];
}

static void check_that_what_matters_is_emitted(void)
{
    for (uint32_t stack = 1; stack <= STACKS; stack++) {
        const uint64_t *sums = truth[stack];
        if (stack != unnamed && (has_share(live_of(sums), live_of(sum)) ||
                                 has_share(sums[HS_SUM_ALLOCATED_BYTES], sum[HS_SUM_ALLOCATED_BYTES]) ||
                                 has_share(sums[HS_SUM_ALLOCATED_COUNT], sum[HS_SUM_ALLOCATED_COUNT])))
            ck_assert_uint_eq(emitted[stack][HS_SUM_ALLOCATED_COUNT], sums[HS_SUM_ALLOCATED_COUNT]);
    }
}

static void forget(void)
{
    memset(emitted, 0, sizeof emitted);
    memset(truth, 0, sizeof truth);
    memset(sum, 0, sizeof sum);
    unnamed = 0;
}

START_TEST(stacks_are_emitted_or_part_of_the_rest)
{
    struct random_numbers numbers = random_from(12);
    uint32_t most = 0, before = 0, left = 0;
    forget();
    for (unsigned tick = 0; tick < TICKS; tick++) {
        uint32_t stacks = tick < 20 ? hs_config.aggregate_stacks : STACKS;
        add_some(&numbers, tick / 20 * 40, stacks);
        unnamed = (uint32_t)random_below(&numbers, STACKS);
        hs_stack_aggregates__choose(HS_AGGREGATE_HEAP, name_of);
        hs_stack_aggregates__emit(HS_AGGREGATE_HEAP, hear);
        uint32_t apart = check_emitted();
        check_that_what_matters_is_emitted();
        most = apart > most ? apart : most;
        left += apart < before;
        before = apart;
        ck_assert_uint_le(apart, 3 * 4 * hs_config.aggregate_stacks);
        if (tick == 19) // few: each is told
            ck_assert_uint_ge(apart, hs_config.aggregate_stacks - 2);
    }
    ck_assert_uint_gt(most, hs_config.aggregate_stacks / 2);
    ck_assert_uint_gt(left, 4); // or none of it is tested
    ck_assert_uint_gt(hs_stack_aggregates__folded(HS_AGGREGATE_HEAP), 0);
    ck_assert_uint_eq(live.dropped[HS_DROP_STACK_TABLE], 0);
}
END_TEST

// What the tables have no room for is in stack 0, and counted.
START_TEST(stacks_without_room_are_part_of_the_rest)
{
    hs_config.aggregate_memory = 256 * (8 * HS_SUM_COUNT + 8); // the first table, which cannot grow
    forget();
    for (unsigned tick = 0; tick < TICKS; tick++) {
        for (uint32_t stack = 1; stack <= STACKS; stack++)
            hs_stack_aggregates__add(HS_AGGREGATE_HEAP, stack, HS_SUM_ALLOCATED_COUNT, 16, 0);
        hs_stack_aggregates__choose(HS_AGGREGATE_HEAP, name_of);
        hs_stack_aggregates__emit(HS_AGGREGATE_HEAP, hear);
        ck_assert_uint_le(hs_blocks_elsewhere, hs_config.aggregate_memory);
    }
    uint64_t all = 0;
    for (uint32_t stack = 0; stack <= STACKS; stack++)
        all += emitted[stack][HS_SUM_ALLOCATED_BYTES];
    ck_assert_uint_eq(all, 16ull * STACKS * TICKS);
    ck_assert_uint_gt(live.dropped[HS_DROP_STACK_TABLE], 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("aggregate");
    TCase *tables = tcase_create("tables");
    tcase_add_checked_fixture(tables, setup, teardown);
    tcase_add_test(tables, blocks_are_what_a_model_says);
    tcase_add_test(tables, blocks_keep_within_their_memory);
    tcase_add_test(tables, stacks_are_emitted_or_part_of_the_rest);
    tcase_add_test(tables, stacks_without_room_are_part_of_the_rest);
    suite_add_tcase(suite, tables);
    return run_suite(suite);
}
