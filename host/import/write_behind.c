// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/import/write_behind.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#define BLOCKS 4 // one is being filled, one is being written, the others are waiting

struct hs_write_behind {
    write_behind_work work;
    void *context;
    struct hs_staged_block *block[BLOCKS];
    size_t blocks;
    struct hs_staged_block *unused;
    struct hs_staged_block *first, **last; // to write
    bool threaded, ending;
    int failed;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
};

struct hs_write_behind *hs_write_behind__create(write_behind_work work, void *context)
{
    struct hs_write_behind *behind = calloc(1, sizeof *behind);
    if (!behind)
        return NULL;
    behind->work = work;
    behind->context = context;
    behind->last = &behind->first;
    pthread_mutex_init(&behind->mutex, NULL);
    pthread_cond_init(&behind->changed, NULL);
    return behind;
}

static void give_back(struct hs_write_behind *behind, struct hs_staged_block *block, int failed)
{
    behind->failed = behind->failed ? behind->failed : failed;
    block->next = behind->unused;
    behind->unused = block;
}

static void *write_blocks(void *argument)
{
    struct hs_write_behind *behind = argument;
    pthread_mutex_lock(&behind->mutex);
    while (behind->first || !behind->ending) {
        struct hs_staged_block *block = behind->first;
        if (!block) {
            pthread_cond_wait(&behind->changed, &behind->mutex);
            continue;
        }
        behind->first = block->next;
        if (!behind->first)
            behind->last = &behind->first;
        pthread_mutex_unlock(&behind->mutex);
        int failed = behind->work(behind->context, block);
        pthread_mutex_lock(&behind->mutex);
        give_back(behind, block, failed);
        pthread_cond_signal(&behind->changed);
    }
    pthread_mutex_unlock(&behind->mutex);
    return NULL;
}

// Takes an unused block; if no more may be allocated, waits for one.
static struct hs_staged_block *take_unused(struct hs_write_behind *behind)
{
    pthread_mutex_lock(&behind->mutex);
    while (!behind->unused && behind->blocks == BLOCKS)
        pthread_cond_wait(&behind->changed, &behind->mutex);
    struct hs_staged_block *block = behind->unused;
    if (block)
        behind->unused = block->next;
    pthread_mutex_unlock(&behind->mutex);
    return block;
}

struct hs_staged_block *hs_write_behind__empty_block(struct hs_write_behind *behind)
{
    struct hs_staged_block *block = take_unused(behind);
    if (block)
        return block;
    block = malloc(sizeof *block);
    if (block)
        behind->block[behind->blocks++] = block;
    return block;
}

static int append(struct hs_write_behind *behind, struct hs_staged_block *block)
{
    pthread_mutex_lock(&behind->mutex);
    block->next = NULL;
    *behind->last = block;
    behind->last = &block->next;
    int failed = behind->failed;
    pthread_cond_signal(&behind->changed);
    pthread_mutex_unlock(&behind->mutex);
    return failed;
}

int hs_write_behind__hand_over(struct hs_write_behind *behind, struct hs_staged_block *block)
{
    if (!behind->threaded)
        behind->threaded = !pthread_create(&behind->thread, NULL, write_blocks, behind);
    if (behind->threaded)
        return append(behind, block);
    give_back(behind, block, behind->work(behind->context, block));
    return behind->failed;
}

int hs_write_behind__finish(struct hs_write_behind *behind)
{
    if (!behind->threaded)
        return behind->failed;
    pthread_mutex_lock(&behind->mutex);
    behind->ending = true;
    pthread_cond_signal(&behind->changed);
    pthread_mutex_unlock(&behind->mutex);
    pthread_join(behind->thread, NULL);
    behind->threaded = behind->ending = false;
    return behind->failed;
}

void hs_write_behind__free(struct hs_write_behind *behind)
{
    if (!behind)
        return;
    hs_write_behind__finish(behind);
    for (size_t i = 0; i < behind->blocks; i++)
        free(behind->block[i]);
    pthread_cond_destroy(&behind->changed);
    pthread_mutex_destroy(&behind->mutex);
    free(behind);
}
