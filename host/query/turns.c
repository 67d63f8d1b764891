// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/turns.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

struct waiter {
    struct waiter *next;
    uint64_t used;
    bool has_turn;
    pthread_cond_t got_turn;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct waiter *waiters; // the last one to come in front
static unsigned taken, turns;

void hs_turn__take(uint64_t used)
{
    struct waiter waiter = {.used = used, .got_turn = PTHREAD_COND_INITIALIZER};
    pthread_mutex_lock(&lock);
    if (!turns) {
        long processors = sysconf(_SC_NPROCESSORS_ONLN);
        turns = processors < 1 ? 1 : (unsigned)processors;
    }
    if (taken < turns) {
        taken++;
    } else {
        waiter.next = waiters;
        waiters = &waiter;
        while (!waiter.has_turn)
            pthread_cond_wait(&waiter.got_turn, &lock);
    }
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&waiter.got_turn);
}

void hs_turn__give_back(void)
{
    struct waiter **least = NULL;
    pthread_mutex_lock(&lock);
    for (struct waiter **at = &waiters; *at; at = &(*at)->next)
        if (!least || (*at)->used <= (*least)->used)
            least = at;
    if (least) {
        struct waiter *next = *least;
        *least = next->next;
        next->has_turn = true;
        pthread_cond_signal(&next->got_turn);
    } else {
        taken--;
    }
    pthread_mutex_unlock(&lock);
}
