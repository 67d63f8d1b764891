// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A server that does little but allocate, and leaks: each request takes some blocks, replaces one of many that are
// kept, and gives the others back; one request in 64 keeps a block for ever. Usage: server REQUESTS [THREADS]
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEPT = 4096, BLOCKS_PER_REQUEST = 12, LEAK_PERIOD = 64, LEAK_SIZE = 1024, THREADS_LIMIT = 64 };

static long requests;

static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static char *allocate(size_t size)
{
    char *block = malloc(size);
    if (!block)
        abort();
    block[0] = 1;
    return block;
}

static void serve(char **kept, uint64_t *state)
{
    char *blocks[BLOCKS_PER_REQUEST];
    for (int i = 0; i < BLOCKS_PER_REQUEST; i++)
        blocks[i] = allocate(16 + next_random(state) % 240);
    char **replaced = &kept[next_random(state) % KEPT];
    free(*replaced);
    *replaced = blocks[0];
    for (int i = 1; i < BLOCKS_PER_REQUEST; i++)
        free(blocks[i]);
}

static void *run(void *number)
{
    uint64_t state = (uintptr_t)number + 1;
    char **kept = calloc(KEPT, sizeof *kept);
    for (long i = 0; kept && i < requests; i++) {
        serve(kept, &state);
        if (i % LEAK_PERIOD == 0)
            *(void *volatile *)kept = allocate(LEAK_SIZE);
    }
    return NULL;
}

int main(int count, char **words)
{
    pthread_t threads[THREADS_LIMIT];
    requests = count > 1 ? atol(words[1]) : 100000;
    int wanted = count > 2 ? atoi(words[2]) : 1;
    if (wanted < 1 || wanted > THREADS_LIMIT)
        return 2;
    for (uintptr_t i = 0; i < (uintptr_t)wanted; i++)
        if (pthread_create(&threads[i], NULL, run, (void *)i))
            return 1;
    for (int i = 0; i < wanted; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
