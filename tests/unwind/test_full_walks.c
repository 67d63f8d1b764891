// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Frames whose steps need all registers, one after the other: together they pass each frame once, so that a walk
// through all of them takes steps in proportion to its depth. The suite is linked so that every such step is counted.
#include "unwind/full_step.h"

#include "support.h"

#include <stdlib.h>

enum { CAPACITY = 4096, SHORT = 50 };

int __real_hs_full_step(struct hs_full_walk *walk);
int __wrap_hs_full_step(struct hs_full_walk *walk);

static unsigned long full_steps, first, repeated, changed, plain;
static struct hs_memo *memo;
static uintptr_t pcs[CAPACITY];

int __wrap_hs_full_step(struct hs_full_walk *walk)
{
    full_steps++;
    return __real_hs_full_step(walk);
}

static unsigned long take_steps(void)
{
    unsigned long taken = full_steps;
    full_steps = 0;
    return taken;
}

NOINLINE static void walk_with_memo(unsigned depth)
{
    struct hs_registers start;
    HS_CAPTURE_CALLER(&start);
    hs_memo_walk(memo, &start);
    ck_assert_int_eq(memo->end, HS_END_ROOT);
    ck_assert_uint_gt(memo->depth, depth);
}

NOINLINE static void walk_plain(unsigned depth)
{
    struct hs_registers start;
    enum hs_end end;
    HS_CAPTURE_CALLER(&start);
    ck_assert_uint_gt(hs_walk_plain(pcs, CAPACITY, &start, &end), depth);
    ck_assert_int_eq(end, HS_END_ROOT);
}

NOINLINE static void walk_from_elsewhere(unsigned depth)
{
    volatile char room[100] = {(char)depth};
    walk_with_memo(depth);
    room[1] = room[0];
}

NOINLINE static void walk_all(unsigned depth)
{
    free(memo);
    memo = hs_memo_create(calloc(1, hs_memo_size(CAPACITY)), CAPACITY);
    take_steps();
    walk_with_memo(depth);
    first = take_steps();
    walk_with_memo(depth);
    repeated = take_steps();
    walk_from_elsewhere(depth);
    changed = take_steps();
    walk_plain(depth);
    plain = take_steps();
}

#ifdef __arm__
// The frame pointer of the other kind of code.
#ifdef __thumb__
#define OTHER_CODE __attribute__((target("arm")))
#else
#define OTHER_CODE __attribute__((target("thumb")))
#endif
OTHER_CODE NOINLINE static void nest(unsigned left, unsigned depth)
{
    volatile char *room = __builtin_alloca(8 + left % 3 * 8);
    room[0] = (char)left;
    if (left)
        nest(left - 1, depth);
    else
        walk_all(depth);
    room[1] = room[0];
}
#else
extern void odd_rbx_based(void (*call)(void *), void *argument);

struct nested {
    unsigned left, depth;
};

static void nest_next(void *argument)
{
    struct nested *nested = argument;
    if (!nested->left--)
        walk_all(nested->depth);
    else
        odd_rbx_based(nest_next, nested);
    OPAQUE(nested);
}

NOINLINE static void nest(unsigned left, unsigned depth)
{
    struct nested nested = {left, depth};
    nest_next(&nested);
}
#endif

struct counts {
    unsigned long first, repeated, changed, plain;
};

static struct counts count(unsigned depth)
{
    nest(depth, depth); // the rules are known then
    nest(depth, depth);
    return (struct counts){first, repeated, changed, plain};
}

START_TEST(steps_grow_as_the_depth)
{
    struct counts one = count(SHORT), two = count(2 * SHORT), four = count(4 * SHORT);
    ck_assert_uint_ge(one.first, SHORT);
    ck_assert_uint_ge(one.repeated, SHORT);
    ck_assert_uint_ge(one.changed, SHORT);
    ck_assert_uint_ge(one.plain, SHORT);
    ck_assert_uint_eq(four.first - two.first, 2 * (two.first - one.first));
    ck_assert_uint_eq(four.repeated - two.repeated, 2 * (two.repeated - one.repeated));
    ck_assert_uint_eq(four.changed - two.changed, 2 * (two.changed - one.changed));
    ck_assert_uint_eq(four.plain - two.plain, 2 * (two.plain - one.plain));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("full_walks");
    TCase *cases = tcase_create("count");
    tcase_add_test(cases, steps_grow_as_the_depth);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
