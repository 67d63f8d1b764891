// SPDX-License-Identifier: MIT OR Apache-2.0
#include "toy_allocator.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { CLASSES = 24, LEAST_BITS = 5, ARENA = 64 << 20 };

struct block {
    size_t size;
    uint32_t class;
    struct block *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *unused[CLASSES];
static char *arena, *end;

static uint32_t class_of(size_t size)
{
    uint32_t class = 0;
    while (((size_t)1 << (class + LEAST_BITS)) < size + sizeof(struct block))
        class ++;
    return class;
}

static struct block *carve(uint32_t class)
{
    size_t size = (size_t)1 << (class + LEAST_BITS);
    if (!arena) {
        arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        end = arena + ARENA;
    }
    if ((size_t)(end - arena) < size)
        return NULL;
    struct block *block = (struct block *)(void *)arena;
    arena += size;
    return block;
}

__attribute__((noinline)) void *toy_malloc(size_t size)
{
    uint32_t class = class_of(size);
    pthread_mutex_lock(&lock);
    struct block *block = unused[class];
    if (block)
        unused[class] = block->next;
    else
        block = carve(class);
    pthread_mutex_unlock(&lock);
    if (!block)
        return NULL;
    block->size = size;
    block->class = class;
    return block + 1;
}

__attribute__((noinline)) void toy_free(void *memory)
{
    struct block *block = (struct block *)memory - 1;
    if (!memory)
        return;
    pthread_mutex_lock(&lock);
    block->next = unused[block->class];
    unused[block->class] = block;
    pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) void *toy_calloc(size_t count, size_t size)
{
    void *block = toy_malloc(count * size);
    return block ? memset(block, 0, count * size) : NULL;
}

__attribute__((noinline)) void *toy_realloc(void *old, size_t size)
{
    void *block = toy_malloc(size);
    if (!block || !old)
        return block;
    size_t before = ((struct block *)old - 1)->size;
    memcpy(block, old, before < size ? before : size);
    toy_free(old);
    return block;
}
