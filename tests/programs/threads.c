// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Threads: very many short ones, or a few that hand blocks to each other and check that nobody else wrote there.
// Usage: threads storm|exchange|still|confined N; still: the threads do what they do in exchange, and stand still when
// the program ends; confined: exchange without a network, once a line has come
#include "confine.h"
#include "program.h"

#include <pthread.h>
#include <stdatomic.h>

static atomic_long blocks_made;

static void *short_life(void *unused)
{
    (void)unused;
    void *held[5];
    for (int i = 0; i < 5; i++)
        held[i] = allocate(100 + (size_t)i);
    for (int i = 0; i < 5; i++)
        free(held[i]);
    blocks_made += 5;
    return keep(malloc(64));
}

enum { CELLS = 1024 };
static _Atomic(unsigned char *) cells[CELLS];
static int rounds;

// A block says in its first bytes how long it is and with what it is filled.
static unsigned char *make_block(uint64_t *seed)
{
    uint32_t length = 8 + (uint32_t)(random_next(seed) % 600);
    unsigned char fill = (unsigned char)random_next(seed);
    unsigned char *block;
    switch (random_next(seed) % 4) {
    case 0:
        block = keep(calloc(1, length));
        for (uint32_t i = 0; i < length; i++)
            MUST(block[i] == 0);
        break;
    case 1:
        block = keep(aligned_alloc(64, (length + 63) & ~63u));
        MUST(((uintptr_t)block & 63) == 0);
        break;
    default:
        block = keep(malloc(length));
    }
    MUST(block);
    memcpy(block, &length, 4);
    memset(block + 4, fill, length - 4);
    blocks_made++;
    return block;
}

static void check_block(const unsigned char *block)
{
    uint32_t length;
    memcpy(&length, block, 4);
    for (uint32_t i = 5; i < length; i++)
        MUST(block[i] == block[4]);
}

static unsigned char *resize_block(unsigned char *block, uint64_t *seed)
{
    uint32_t length, longer;
    memcpy(&length, block, 4);
    unsigned char fill = block[4];
    longer = 8 + (uint32_t)(random_next(seed) % 3000);
    block = keep(realloc(block, longer));
    MUST(block);
    for (uint32_t i = 5; i < length && i < longer; i++)
        MUST(block[i] == fill);
    memset(block + 4, fill, longer - 4);
    memcpy(block, &longer, 4);
    return block;
}

static void *exchanges(void *number)
{
    uint64_t seed = (uint64_t)(uintptr_t)number + 42;
    for (int i = 0; i < rounds; i++) {
        unsigned char *block = make_block(&seed);
        block = atomic_exchange(&cells[random_next(&seed) % CELLS], block);
        if (!block)
            continue;
        check_block(block);
        if (random_next(&seed) % 3 == 0) {
            block = resize_block(block, &seed);
            check_block(block);
        }
        free(block);
    }
    return NULL;
}

static pthread_barrier_t standing;

static void *stands_still(void *number)
{
    exchanges(number);
    pthread_barrier_wait(&standing);
    for (;;)
        pause();
    return NULL;
}

int main(int count, char **arguments)
{
    const char *mode = count > 1 ? arguments[1] : "storm";
    int number = count > 2 ? atoi(arguments[2]) : 1000;
    pthread_t threads[8];
    if (!strcmp(mode, "confined")) {
        char line[2];
        int error = confine();
        say("confined %d\n", error);
        MUST(read(0, line, 1) == 1);
        mode = "exchange";
    }
    if (!strcmp(mode, "storm")) {
        void *result;
        for (int i = 0; i < number; i += 8) {
            for (int t = 0; t < 8; t++)
                MUST(pthread_create(&threads[t], NULL, short_life, NULL) == 0);
            for (int t = 0; t < 8; t++) {
                MUST(pthread_join(threads[t], &result) == 0);
                free(result);
            }
        }
    } else if (!strcmp(mode, "exchange")) {
        rounds = number;
        for (int t = 0; t < 8; t++)
            MUST(pthread_create(&threads[t], NULL, exchanges, (void *)(intptr_t)t) == 0);
        for (int t = 0; t < 8; t++)
            MUST(pthread_join(threads[t], NULL) == 0);
        for (int i = 0; i < CELLS; i++)
            if (cells[i])
                check_block(cells[i]);
    } else if (!strcmp(mode, "still")) {
        rounds = number;
        MUST(pthread_barrier_init(&standing, NULL, 9) == 0);
        for (int t = 0; t < 8; t++)
            MUST(pthread_create(&threads[t], NULL, stands_still, (void *)(intptr_t)t) == 0);
        pthread_barrier_wait(&standing);
    } else {
        return 2;
    }
    say("%ld blocks\n", (long)blocks_made);
    return 0;
}
