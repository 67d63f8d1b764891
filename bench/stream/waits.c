// SPDX-License-Identifier: MIT OR Apache-2.0
//
// How long a program's calls take at most: threads allocate and free, and look at the clock around each call.
// Usage: bench_waits THREADS CALLS; prints the longest call in ns, the calls of more than 1 ms, of those the ones in
// whose thread nothing was taken from it meanwhile, and how often the threads gave the processor away and were taken
// off it.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { BLOCKS = 64, MOST_THREADS = 64 };
#define MILLISECOND 1000000l

struct worker {
    long calls, longest, long_calls, undisturbed;
    long given, taken;
};

static long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000l + now.tv_nsec;
}

static void note(struct worker *worker, long took)
{
    struct rusage usage;
    if (took > worker->longest)
        worker->longest = took;
    if (took < MILLISECOND)
        return;
    worker->long_calls++;
    getrusage(RUSAGE_THREAD, &usage);
    worker->undisturbed += usage.ru_nivcsw == worker->taken;
    worker->taken = usage.ru_nivcsw;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    void *blocks[BLOCKS] = {0};
    struct rusage usage, before;
    unsigned seed = 1;
    getrusage(RUSAGE_THREAD, &before);
    worker->taken = before.ru_nivcsw;
    for (long i = 0; i < worker->calls; i++) {
        seed = seed * 1664525u + 1013904223u;
        void **block = &blocks[(seed >> 8) % BLOCKS];
        long began = now_ns();
        if (*block) {
            free(*block);
            *block = NULL;
        } else {
            *block = malloc(16 + (seed >> 20));
        }
        note(worker, now_ns() - began);
        if (i % 64 == 0) {
            getrusage(RUSAGE_THREAD, &usage);
            worker->taken = usage.ru_nivcsw;
        }
    }
    getrusage(RUSAGE_THREAD, &usage);
    worker->given = usage.ru_nvcsw - before.ru_nvcsw;
    worker->taken = usage.ru_nivcsw - before.ru_nivcsw;
    return NULL;
}

int main(int count, char **arguments)
{
    static pthread_t threads[MOST_THREADS];
    static struct worker workers[MOST_THREADS], all;
    int running = count > 1 ? atoi(arguments[1]) : 2;
    if (running < 1 || running > MOST_THREADS)
        return 2;
    for (int i = 0; i < running; i++) {
        workers[i].calls = count > 2 ? atol(arguments[2]) : 1000000;
        if (pthread_create(&threads[i], NULL, work, &workers[i]))
            return 1;
    }
    for (int i = 0; i < running; i++) {
        pthread_join(threads[i], NULL);
        if (workers[i].longest > all.longest)
            all.longest = workers[i].longest;
        all.long_calls += workers[i].long_calls;
        all.undisturbed += workers[i].undisturbed;
        all.given += workers[i].given;
        all.taken += workers[i].taken;
    }
    printf("%ld %ld %ld %ld %ld\n", all.longest, all.long_calls, all.undisturbed, all.given, all.taken);
    return 0;
}
