// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Allocations whose sums are known: what is recorded for the readers of exports.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define KEEP __attribute__((noinline))

static void *kept[400];

KEEP static void keep_small(void)
{
    for (int i = 0; i < 300; i++)
        kept[i] = malloc(24);
}

KEEP static void keep_large(int from)
{
    for (int i = from; i < from + 50; i++)
        kept[i] = calloc(1, 1000);
}

KEEP static void use_briefly(int times)
{
    for (int i = 0; i < times; i++) {
        char *volatile block = malloc(64);
        memset(block, i, 64);
        free(block);
    }
}

KEEP static int take_peak(int depth);

KEEP static int take_deeper(int depth)
{
    return take_peak(depth - 1) + 1;
}

// Recursion gives the same functions at different depths.
KEEP static int take_peak(int depth)
{
    char *volatile block = malloc(100000);
    memset(block, depth, 100000);
    int deeper = depth > 9 ? take_deeper(depth) : depth ? take_peak(depth - 1) : 0;
    free(block);
    return deeper + depth;
}

KEEP static void grow_vector(void)
{
    char *vector = malloc(16);
    for (size_t size = 32; size <= 65536; size *= 2)
        vector = realloc(vector, size);
    kept[399] = vector;
}

static void *work(void *unused)
{
    for (int i = 0; i < 20; i++)
        keep_large(300);
    return unused;
}

int main(int count, char **arguments)
{
    pthread_t thread;
    keep_small();
    use_briefly(count > 1 ? atoi(arguments[1]) : 1000);
    take_peak(19);
    grow_vector();
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    return kept[0] == NULL;
}
