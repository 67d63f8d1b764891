// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Leaves blocks behind, from two functions and in two threads; the argument says how many.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

void *kept[100000];
static int count;

__attribute__((noinline)) void *take_large(int i)
{
    void *block = malloc(1000 + 100 * (size_t)(i % 64));
    memset(block, 1, 8);
    return block;
}

__attribute__((noinline)) void *take_small(int i)
{
    void *block = calloc(1, 64);
    memset(block, i, 8);
    return block;
}

static void *work(void *unused)
{
    (void)unused;
    for (int i = 0; i < 5000; i++)
        kept[count++] = take_small(i);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    int blocks = argc > 1 ? atoi(argv[1]) : 2000;
    for (int i = 0; i < blocks; i++)
        kept[count++] = take_large(i);
    for (int i = 0; i < 20000; i++)
        free(take_large(i));
    if (pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, NULL))
        return 1;
    return 0;
}
