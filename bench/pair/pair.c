// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What one malloc and free cost at a given depth of stack, with a number of threads at once.
// Usage: pair THREADS PAIRS DEPTH MOVING
// MOVING is the number of innermost frames that are left and entered again for each pair.
// Prints: CPU nanoseconds per pair in the program's threads, wall nanoseconds per pair and thread.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long pairs;
static int depth, moving;
static pthread_barrier_t ready;

static double now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static __attribute__((noinline, noclone)) void one_pair(int frames, size_t size)
{
    if (frames > 0) {
        one_pair(frames - 1, size);
    } else {
        void *volatile block = malloc(size);
        free(block);
    }
    __asm__ volatile("" ::: "memory");
}

static __attribute__((noinline, noclone)) void descend(int frames)
{
    if (frames > 0) {
        descend(frames - 1);
    } else {
        for (long i = 0; i < pairs; i++)
            one_pair(moving, 16 + (size_t)(i & 63) * 8);
    }
    __asm__ volatile("" ::: "memory");
}

static void *work(void *result)
{
    pthread_barrier_wait(&ready);
    double began = now(CLOCK_THREAD_CPUTIME_ID);
    descend(depth - moving - 4); // main or clone, start_thread, work, one_pair
    *(double *)result = now(CLOCK_THREAD_CPUTIME_ID) - began;
    return NULL;
}

int main(int count, char **arguments)
{
    int threads = count > 1 ? atoi(arguments[1]) : 1;
    pairs = count > 2 ? atol(arguments[2]) : 1000000;
    depth = count > 3 ? atoi(arguments[3]) : 20;
    moving = count > 4 ? atoi(arguments[4]) : 0;
    pthread_t handles[64];
    double cpu[64], sum = 0;
    if (threads < 1 || threads > 64 || depth < moving + 6)
        return 2;
    pthread_barrier_init(&ready, NULL, (unsigned)threads + 1);
    for (int t = 0; t < threads; t++)
        if (pthread_create(&handles[t], NULL, work, &cpu[t]) != 0)
            return 1;
    pthread_barrier_wait(&ready);
    double began = now(CLOCK_MONOTONIC);
    for (int t = 0; t < threads; t++) {
        pthread_join(handles[t], NULL);
        sum += cpu[t];
    }
    printf("%.2f %.2f\n", sum / ((double)pairs * threads), (now(CLOCK_MONOTONIC) - began) / (double)pairs);
    return 0;
}
