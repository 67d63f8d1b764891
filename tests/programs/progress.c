// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Allocates for ever and says in a shared file how far it is, for tests that end it at any moment.
// Usage: progress FILE THREADS [BLOCKS]. The file holds one 64-bit little-endian number for each thread: blocks made so
// far. After so many BLOCKS each thread sleeps for a millisecond, so that what is recorded in a minute fits somewhere.
#include "program.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>

static size_t blocks_at_once;
static _Atomic uint32_t (*progress)[2]; // low half, high half: not every machine stores both at once

static NOINLINE void *made(size_t size, int depth)
{
    void *block = depth ? made(size, depth - 1) : allocate(size);
    __asm__ volatile("" : "+r"(block));
    return block;
}

static uint32_t little_endian(uint32_t value)
{
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? value : __builtin_bswap32(value);
}

static void *work(void *number)
{
    int thread = (int)(intptr_t)number;
    uint64_t seed = (uint64_t)thread;
    void *ring[256] = {0};
    for (size_t i = 0;; i++) {
        free(ring[i % 256]);
        ring[i % 256] = made(1 + random_next(&seed) % 500, (int)(i % 30));
        uint64_t made_so_far = i + 1;
        atomic_store_explicit(&progress[thread][1], little_endian((uint32_t)(made_so_far >> 32)), memory_order_relaxed);
        atomic_store_explicit(&progress[thread][0], little_endian((uint32_t)made_so_far), memory_order_release);
        if (blocks_at_once && made_so_far % blocks_at_once == 0)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return NULL;
}

int main(int count, char **arguments)
{
    int threads = count > 2 ? atoi(arguments[2]) : 1;
    if (count < 2)
        return 2;
    blocks_at_once = count > 3 ? (size_t)atol(arguments[3]) : 0;
    int file = open(arguments[1], O_RDWR | O_CREAT, 0600);
    MUST(file >= 0 && ftruncate(file, 4096) == 0);
    progress = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    MUST(progress != MAP_FAILED);
    for (int t = 1; t < threads; t++) {
        pthread_t thread;
        MUST(pthread_create(&thread, NULL, work, (void *)(intptr_t)t) == 0);
    }
    work(NULL);
    return 0;
}
