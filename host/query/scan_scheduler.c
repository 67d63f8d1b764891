// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/query/scan_scheduler.h"

#include "host/base/check.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

struct waiter {
    struct waiter *next;
    uint64_t rank;
    bool has_turn;
    pthread_cond_t got_turn;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct waiter *waiters; // the last one to come in front
static unsigned taken, turns;

void hs_scan_scheduler__acquire(uint64_t rank)
{
    struct waiter waiter = {.rank = rank, .got_turn = PTHREAD_COND_INITIALIZER};
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

void hs_scan_scheduler__release(void)
{
    struct waiter **least = NULL;
    pthread_mutex_lock(&lock);
    for (struct waiter **at = &waiters; *at; at = &(*at)->next)
        if (!least || (*at)->rank <= (*least)->rank)
            least = at;
    HS_CHECK(taken <= turns);
    if (least) {
        struct waiter *next = *least;
        *least = next->next;
        next->has_turn = true;
        pthread_cond_signal(&next->got_turn);
    } else {
        HS_CHECK(taken);
        taken--;
    }
    pthread_mutex_unlock(&lock);
}

unsigned hs_scan_scheduler__waiting(void)
{
    unsigned count = 0;
    pthread_mutex_lock(&lock);
    for (const struct waiter *waiter = waiters; waiter; waiter = waiter->next)
        count++;
    pthread_mutex_unlock(&lock);
    return count;
}

// A question that has used more is a long one; by then its remaining time can be estimated.
#define SHORT 20000000u

uint64_t hs_scan_scheduler__rank(uint64_t used, uint64_t done, uint64_t left)
{
    if (used < SHORT || !done)
        return used < SHORT ? used : SHORT;
    const double ns = (double)used / (double)done * (double)left;
    return SHORT + (ns < (double)(UINT64_MAX / 2) ? (uint64_t)ns : UINT64_MAX / 2);
}
