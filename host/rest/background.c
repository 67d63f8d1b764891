// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/rest/background.h"

#include "host/base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct hs_background {
    void (*work)(struct hs_background_thing *thing);
    pthread_mutex_t lock; // of the rest, and of all things
    pthread_cond_t changed;
    pthread_t thread;
    bool runs, ends;
    struct hs_background_thing *first, **last;
};

struct hs_background *hs_background__create(void (*work)(struct hs_background_thing *thing))
{
    struct hs_background *background = calloc(1, sizeof(*background));
    pthread_condattr_t attributes;
    if (!background)
        return NULL;
    background->work = work;
    background->last = &background->first;
    pthread_mutex_init(&background->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&background->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return background;
}

void hs_background__destroy(struct hs_background *background)
{
    if (!background)
        return;
    pthread_mutex_lock(&background->lock);
    background->ends = true;
    pthread_cond_broadcast(&background->changed);
    pthread_mutex_unlock(&background->lock);
    if (background->runs)
        pthread_join(background->thread, NULL);
    pthread_mutex_destroy(&background->lock);
    pthread_cond_destroy(&background->changed);
    free(background);
}

// A thing stays the first while it is worked on.
static void *run(void *context)
{
    struct hs_background *background = context;
    pthread_mutex_lock(&background->lock);
    for (;;) {
        while (!background->first && !background->ends)
            pthread_cond_wait(&background->changed, &background->lock);
        if (background->ends)
            break;
        struct hs_background_thing *thing = background->first;
        pthread_mutex_unlock(&background->lock);
        background->work(thing);
        pthread_mutex_lock(&background->lock);
        background->first = thing->next;
        if (!background->first)
            background->last = &background->first;
        thing->asked = false;
        pthread_cond_broadcast(&background->changed);
    }
    pthread_mutex_unlock(&background->lock);
    return NULL;
}

// Under the lock.
static void append(struct hs_background *background, struct hs_background_thing *thing)
{
    if (thing->asked)
        return;
    thing->asked = true;
    thing->next = NULL;
    *background->last = thing;
    background->last = &thing->next;
    pthread_cond_broadcast(&background->changed);
}

bool hs_background__ask(struct hs_background *background, struct hs_background_thing *thing, uint64_t until)
{
    const struct timespec end = {.tv_sec = (time_t)(until / HS_SECOND), .tv_nsec = (long)(until % HS_SECOND)};
    pthread_mutex_lock(&background->lock);
    background->runs = background->runs || !pthread_create(&background->thread, NULL, run, background);
    if (background->runs)
        append(background, thing);
    int failed = background->runs ? 0 : EAGAIN;
    while (thing->asked && !failed)
        failed = pthread_cond_timedwait(&background->changed, &background->lock, &end);
    const bool done = background->runs && !thing->asked;
    pthread_mutex_unlock(&background->lock);
    return done;
}
