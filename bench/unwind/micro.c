// SPDX-License-Identifier: MIT OR Apache-2.0
//
// One hot stack, walked again and again: 64 distinct functions with different frames under main(). The methods take
// turns within one run. Usage: unwind_micro DEPTH; prints a line per method with the median in nanoseconds.
#define UNW_LOCAL_ONLY
#include "unwind/include/heapsonde/unwind.h"
#include "unwind/resolve.h"
#include "unwind/walk.h"

#include <libunwind.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { FRAMES = 1024, WALKS = 2000, ROUNDS = 41, METHODS = 6, FUNCTIONS = 64 };

static void *pcs[FRAMES];
static struct hs_memo *memo;
static volatile uint32_t sink;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static __attribute__((noinline, optimize("no-omit-frame-pointer"))) void walk_memo(void)
{
    struct hs_registers start;
    HS_CAPTURE_CALLER(&start);
    sink = hs_memo_walk(memo, &start);
}

static __attribute__((noinline, optimize("no-omit-frame-pointer"))) void walk_plain(void)
{
    struct hs_registers start;
    enum hs_end end;
    HS_CAPTURE_CALLER(&start);
    sink = hs_walk_plain((uintptr_t *)pcs, FRAMES, &start, &end);
}

static __attribute__((noinline)) void walk_public(void)
{
    sink = (uint32_t)hs_backtrace(pcs, FRAMES);
}

static __attribute__((noinline)) void walk_libunwind(void)
{
    sink = (uint32_t)unw_backtrace(pcs, FRAMES);
}

static __attribute__((noinline)) void walk_nothing(void)
{
    sink = 0;
}

// What a code address costs that is not cached: the sources are asked for the next frame of the stack.
static __attribute__((noinline)) void resolve_one(void)
{
    static uint32_t next;
    if (!memo->depth)
        walk_memo();
    sink = hs_rule_resolve(memo->pcs[next++ % memo->depth], false);
}

static const struct {
    const char *name;
    void (*walk)(void);
    int walks;
} methods[METHODS] = {
    {"nothing", walk_nothing, WALKS},         {"memo", walk_memo, WALKS},
    {"hs_backtrace", walk_public, WALKS},     {"plain", walk_plain, WALKS},
    {"unw_backtrace", walk_libunwind, WALKS}, {"resolve", resolve_one, WALKS},
};

static double times[METHODS][ROUNDS];

static double measure(void (*walk)(void), int walks)
{
    double start = now();
    for (int i = 0; i < walks; i++)
        walk();
    return (now() - start) / walks;
}

static int compare_doubles(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0) - (difference < 0);
}

static __attribute__((noinline)) void leaf(void)
{
    for (int method = 0; method < METHODS; method++)
        measure(methods[method].walk, 50);
    for (int round = 0; round < ROUNDS; round++)
        for (int method = 0; method < METHODS; method++)
            times[method][round] = measure(methods[method].walk, methods[method].walks);
    walk_public();
    printf("frames %u\n", sink);
    for (int method = 0; method < METHODS; method++) {
        qsort(times[method], ROUNDS, sizeof times[method][0], compare_doubles);
        printf("%s %.1f %.1f\n", methods[method].name, times[method][ROUNDS / 2], times[method][0]);
    }
}

typedef void function(int depth);
static function *const functions[FUNCTIONS];

#define F(n)                                                                                                           \
    static __attribute__((noinline)) void f##n(int depth)                                                              \
    {                                                                                                                  \
        volatile char local[(n)*40 % 296 + 8];                                                                         \
        int a = depth * 3, b = depth * 5;                                                                              \
        local[0] = 1;                                                                                                  \
        __asm__ volatile("" : "+r"(a), "+r"(b));                                                                       \
        if (depth)                                                                                                     \
            functions[(depth * 7 + n) % FUNCTIONS](depth - 1);                                                         \
        else                                                                                                           \
            leaf();                                                                                                    \
        __asm__ volatile("" : "+r"(a), "+r"(b));                                                                       \
        local[1] = local[0];                                                                                           \
    }
#define F8(n) F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7)
// clang-format off
F8(1) F8(2) F8(3) F8(4) F8(5) F8(6) F8(7) F8(8)
// clang-format on
#define P8(n) f##n##0, f##n##1, f##n##2, f##n##3, f##n##4, f##n##5, f##n##6, f##n##7,
    static function *const functions[FUNCTIONS] = {P8(1) P8(2) P8(3) P8(4) P8(5) P8(6) P8(7) P8(8)};

int main(int argc, char **argv)
{
    memo = hs_memo_create(calloc(1, hs_memo_size(FRAMES)), FRAMES);
    unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_PER_THREAD);
    functions[3](argc > 1 ? atoi(argv[1]) : 30);
    return 0;
}
