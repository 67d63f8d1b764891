// SPDX-License-Identifier: MIT OR Apache-2.0
#include "support.h"

#include <stdio.h>
#include <stdlib.h>

__thread struct side_stack side;
static __thread void *found[FRAMES_MAX];

static bool tail_matches(void *const *pcs, int depth, int kept)
{
    if (depth < kept + side.depth)
        return false;
    for (int i = 0; i < side.depth; i++)
        if (pcs[kept + i] != side.returns[side.depth - 1 - i])
            return false;
    return true;
}

static void print_stack(void *const *pcs, int depth)
{
    fprintf(stderr, "%d frames, side stack %d\n", depth, side.depth);
    for (int i = 0; i < depth && i < 40; i++)
        fprintf(stderr, "  %2d %p   %p\n", i, pcs[i], i < side.depth ? side.returns[side.depth - 1 - i] : NULL);
}

// The frame of this function itself is the first of each walk.
NOINLINE bool side_stack_matches(int kept)
{
    struct hs_backtrace_info info;
    int depth = hs_backtrace_reason(found, FRAMES_MAX, &info);
    return tail_matches(found, depth, kept + 2) && info.end == HS_BACKTRACE_COMPLETE && !info.guessed;
}

NOINLINE static int plain_walk(enum hs_end *end)
{
    struct hs_registers start;
    HS_CAPTURE_CALLER(&start);
    return (int)hs_walk_plain((uintptr_t *)found, FRAMES_MAX, &start, end);
}

NOINLINE void check_side_stack(int kept)
{
    enum hs_end end;
    struct hs_backtrace_info info;
    for (int round = 0; round < 3; round++) {
        int depth = hs_backtrace_reason(found, FRAMES_MAX, &info);
        if (!tail_matches(found, depth, kept + 2))
            print_stack(found, depth);
        ck_assert_msg(tail_matches(found, depth, kept + 2), "hs_backtrace, round %d", round);
        ck_assert_int_eq(info.end, HS_BACKTRACE_COMPLETE);
        ck_assert_int_eq(info.guessed, 0);
    }
    int depth = plain_walk(&end);
    ck_assert_msg(tail_matches(found, depth, kept + 2), "hs_walk_plain");
    ck_assert_int_eq(end, HS_END_ROOT);
}
