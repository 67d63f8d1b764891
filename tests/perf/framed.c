// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Compiled with frame pointers, so that the kernel can follow them: allocations at many depths, from two threads.
//   framed ROUNDS, or framed burn TURNS
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

// Big frames, of which a copy of the stack holds few.
NOT_INLINE static unsigned burn_below(unsigned depth, unsigned long turns)
{
    volatile char room[1024];
    room[depth] = 1;
    if (depth)
        return burn_below(depth - 1, turns) + (unsigned)room[depth];
    for (unsigned long i = 0; i < turns; i++)
        depth_sum++;
    return (unsigned)room[0];
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
    if (count > 2)
        return burn_below(DEEPEST, strtoul(arguments[2], NULL, 10)) != DEEPEST + 1;
    rounds = count > 1 ? (unsigned)atoi(arguments[1]) : 1;
    if (pthread_create(&thread, NULL, other_thread, NULL))
        return 1;
    work(0);
    pthread_join(thread, NULL);
    printf("allocations %u\n", 2 * rounds * (DEEPEST + 1));
    return 0;
}
