// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Allocates from 65,536 different stacks of 16 levels and dumps: prints the nanoseconds that mallctl("prof.dump") took
// and those that the processor worked on it, the best of a few. Usage: contexts FILE [LEVELS]; with
// MALLOC_CONF=prof:true,lg_prof_sample:0
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { REPEATS = 5 };

static void *volatile kept;

static void left(unsigned bits, int levels);
static void right(unsigned bits, int levels);

static void descend(unsigned bits, int levels)
{
    if (!levels)
        kept = malloc(16 + bits % 64);
    else if (bits & 1)
        left(bits >> 1, levels - 1);
    else
        right(bits >> 1, levels - 1);
    __asm__ volatile("");
}

static __attribute__((noinline)) void left(unsigned bits, int levels)
{
    descend(bits, levels);
    __asm__ volatile("");
}

static __attribute__((noinline)) void right(unsigned bits, int levels)
{
    descend(bits, levels);
    __asm__ volatile("");
}

static uint64_t now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

int main(int count, char **words)
{
    if (count < 2)
        return 2;
    const char *file = words[1];
    int levels = count > 2 ? atoi(words[2]) : 16;
    for (unsigned bits = 0; bits < 1u << levels; bits++)
        descend(bits, levels);
    int (*mallctl)(const char *, void *, size_t *, void *, size_t);
    *(void **)&mallctl = dlsym(RTLD_DEFAULT, "mallctl");
    uint64_t best = UINT64_MAX, best_work = UINT64_MAX;
    for (int i = 0; i < REPEATS; i++) {
        uint64_t began = now(CLOCK_MONOTONIC), work_began = now(CLOCK_THREAD_CPUTIME_ID);
        int error = mallctl ? mallctl("prof.dump", NULL, NULL, &file, sizeof file) : -1;
        uint64_t work = now(CLOCK_THREAD_CPUTIME_ID) - work_began, took = now(CLOCK_MONOTONIC) - began;
        if (error) {
            fprintf(stderr, "no dump: error %d\n", error);
            return 1;
        }
        best = took < best ? took : best;
        best_work = work < best_work ? work : best_work;
    }
    printf("%llu %llu\n", (unsigned long long)best, (unsigned long long)best_work);
    return 0;
}
