// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Compiled with frame pointers, so that the kernel can follow them: allocations at many depths, from two threads.
//   framed ROUNDS
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define NOT_INLINE __attribute__((noinline, noclone))

enum { DEEPEST = 20 };

static void *volatile kept[2][DEEPEST + 1];
static volatile unsigned depth_sum;

NOT_INLINE static void allocate_at(unsigned thread, unsigned depth)
{
    free(kept[thread][depth]);
    kept[thread][depth] = malloc(depth + 1);
    depth_sum += depth;
}

NOT_INLINE static void descend(unsigned thread, unsigned depth)
{
    if (depth)
        descend(thread, depth - 1);
    allocate_at(thread, depth);
    depth_sum++;
}

static unsigned rounds;

NOT_INLINE static void work(unsigned thread)
{
    for (unsigned i = 0; i < rounds; i++)
        descend(thread, DEEPEST);
    depth_sum++;
}

static void *other_thread(void *unused)
{
    work(1);
    return unused;
}

int main(int count, char **arguments)
{
    pthread_t thread;
    rounds = count > 1 ? (unsigned)atoi(arguments[1]) : 1;
    if (pthread_create(&thread, NULL, other_thread, NULL))
        return 1;
    work(0);
    pthread_join(thread, NULL);
    printf("allocations %u\n", 2 * rounds * (DEEPEST + 1));
    return 0;
}
