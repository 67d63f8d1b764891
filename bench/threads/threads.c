// SPDX-License-Identifier: MIT OR Apache-2.0
//
// threads COUNT: starts so many threads, each of which allocates at stacks of several depths and then waits; says how
// many KiB of the process are resident while all of them wait.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

enum { MOST = 256, DEPTH = 30 };

static int rounds;

static pthread_barrier_t have_allocated, have_counted;

static __attribute__((noinline)) int allocate_below(int depth)
{
    void *volatile block = malloc((size_t)(depth + 1) * 16);
    int missing = !block;
    if (depth > 0)
        missing += allocate_below(depth - 1);
    free(block);
    return missing;
}

static void *run(void *unused)
{
    int missing = allocate_below(0);
    for (int i = 0; i < rounds; i++)
        missing += allocate_below(DEPTH);
    if (missing)
        abort();
    pthread_barrier_wait(&have_allocated);
    pthread_barrier_wait(&have_counted);
    return unused;
}

static long resident_kib(void)
{
    char line[256];
    long kib = -1;
    FILE *file =
        fopen("/proc/self/smaps_rollup", "r"); // the sums in status lack up to 64 pages of each thread on Linux 6.1
    while (file && fgets(line, sizeof(line), file))
        if (!strncmp(line, "Rss:", 4))
            kib = atol(line + 4);
    if (file)
        fclose(file);
    return kib;
}

int main(int count, char **arguments)
{
    static pthread_t threads[MOST];
    int wanted = count == 3 ? atoi(arguments[1]) : 0;
    rounds = count == 3 ? atoi(arguments[2]) : 0;
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); // a huge page of malloc's for some of the threads would hide everything else
    if (wanted < 1 || wanted > MOST || pthread_barrier_init(&have_allocated, NULL, (unsigned)wanted + 1) ||
        pthread_barrier_init(&have_counted, NULL, (unsigned)wanted + 1))
        return 2;
    for (int i = 0; i < wanted; i++)
        if (pthread_create(&threads[i], NULL, run, NULL))
            return 1;
    pthread_barrier_wait(&have_allocated);
    printf("%ld\n", resident_kib());
    pthread_barrier_wait(&have_counted);
    for (int i = 0; i < wanted; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
