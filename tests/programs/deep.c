// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Allocates at the bottom of very deep stacks and through frames larger than the short rules can say.
// Usage: deep DEPTH
#include "program.h"

#include <alloca.h>
#include <sys/resource.h>

static long sum;

static NOINLINE void recurse(int depth)
{
    if (depth % 1000 == 0)
        free(allocate(50));
    if (depth > 0)
        recurse(depth - 1);
    sum += depth & 1;
}

static NOINLINE void large_frame(void)
{
    volatile char frame[300 << 10];
    frame[0] = frame[sizeof frame - 1] = 1;
    free(allocate(60));
    sum += frame[0];
}

static NOINLINE void variable_frame(size_t size)
{
    volatile char *frame = alloca(size);
    frame[0] = frame[size - 1] = 1;
    free(allocate(61));
    sum += frame[0];
}

static NOINLINE void aligned_frame(void)
{
    volatile char frame[256] __attribute__((aligned(128)));
    frame[0] = frame[255] = 1;
    MUST(((uintptr_t)frame & 127) == 0);
    free(allocate(62));
    sum += frame[0];
}

int main(int count, char **arguments)
{
    int depth = count > 1 ? atoi(arguments[1]) : 1000;
    for (int i = 0; i < 3; i++)
        recurse(depth);
    for (size_t i = 1; i < 200; i++) {
        large_frame();
        variable_frame(i * 997);
        aligned_frame();
    }
    say("sum %ld\n", sum);
    return 0;
}
