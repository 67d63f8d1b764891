// SPDX-License-Identifier: MIT OR Apache-2.0
//
// stacks WALKER TIMES: calls 30 nested functions and takes a stack TIMES times from the innermost one, by turns from
// two chains of four more functions when WALKER ends in "-fresh" (as programs do that allocate at different places).
//
// WALKER: none, heapsonde, libunwind; each prints how many frames it found, so that nothing is measured that finds
// none.
#include "heapsonde/unwind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef WITH_LIBUNWIND
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#endif

enum { FRAMES = 128, NESTED = 30, FRESH = 4 };

static int (*walk)(void **pcs, int max);
static long times;
static int fresh, found;
static volatile int sink;

static int walk_nothing(void **pcs, int max)
{
    (void)pcs;
    return max > 0;
}

#ifdef WITH_LIBUNWIND
static int walk_libunwind(void **pcs, int max)
{
    return unw_backtrace(pcs, max);
}
#endif

__attribute__((noinline)) static int take(int seed)
{
    void *pcs[FRAMES];
    found = walk(pcs, FRAMES);
    sink += seed;
    return found;
}

#define CHAIN(name, next, size)                                                                                        \
    __attribute__((noinline)) static int name(int seed)                                                                \
    {                                                                                                                  \
        volatile char room[size];                                                                                      \
        room[seed % (size)] = (char)seed;                                                                              \
        return next(seed + 1) + room[seed % (size)];                                                                   \
    }
CHAIN(left_4, take, 24)
CHAIN(left_3, left_4, 40)
CHAIN(left_2, left_3, 16)
CHAIN(left_1, left_2, 72)
CHAIN(right_4, take, 32)
CHAIN(right_3, right_4, 24)
CHAIN(right_2, right_3, 88)
CHAIN(right_1, right_2, 16)

__attribute__((noinline)) static int repeat(int seed)
{
    int sum = 0;
    for (long i = 0; i < times; i++)
        sum += !fresh ? take(seed) : i & 1 ? left_1(seed) : right_1(seed);
    return sum;
}

__attribute__((noinline)) static int nest(int depth, int seed)
{
    volatile char room[16 + 8 * 4];
    room[seed % 16] = (char)seed;
    int result = depth ? nest(depth - 1, seed + 1) : repeat(seed);
    return result + room[seed % 16];
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: stacks none|heapsonde|libunwind[-fresh] TIMES\n");
        return 2;
    }
    times = atol(argv[2]);
    fresh = strstr(argv[1], "-fresh") != NULL;
    if (!strncmp(argv[1], "none", 4))
        walk = walk_nothing;
    else if (!strncmp(argv[1], "heapsonde", 9))
        walk = hs_backtrace;
#ifdef WITH_LIBUNWIND
    else if (!strncmp(argv[1], "libunwind", 9))
        walk = walk_libunwind;
#endif
    if (!walk)
        return 3;
    nest(NESTED - 2, 1);
    printf("%d\n", found);
    return 0;
}
