// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Cancels threads that allocate. Deferred: anywhere between two calls. Asynchronous: while the thread computes, since
// malloc itself may not be cancelled asynchronously; "deferred" leaves that out.
#include "program.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

static atomic_int cleaned, started;

static void clean(void *block)
{
    free(block);
    free(allocate(90));
    cleaned++;
}

static void *deferred(void *unused)
{
    (void)unused;
    void *block = allocate(128);
    pthread_cleanup_push(clean, block);
    started++;
    for (;;) {
        for (int i = 0; i < 20; i++)
            free(allocate(16 + (size_t)i));
        pthread_testcancel();
    }
    pthread_cleanup_pop(1);
    return NULL;
}

static void *asynchronous(void *unused)
{
    (void)unused;
    void *block = allocate(128);
    pthread_cleanup_push(clean, block);
    for (int i = 0; i < 200; i++)
        free(allocate(16 + (size_t)i));
    int old;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
    started++;
    for (;;)
        __asm__ volatile("");
    pthread_cleanup_pop(1);
    return NULL;
}

static void *blocked(void *unused)
{
    (void)unused;
    void *block = allocate(128);
    pthread_cleanup_push(clean, block);
    started++;
    pause();
    pthread_cleanup_pop(1);
    return NULL;
}

int main(int count, char **arguments)
{
    bool only_deferred = count > 1 && !strcmp(arguments[1], "deferred");
    void *(*const kinds[])(void *) = {deferred, only_deferred ? deferred : asynchronous, blocked};
    int cancelled = 0, rounds = fewer(100);
    for (int i = 0; i < rounds; i++) {
        pthread_t threads[3];
        void *result;
        started = 0;
        for (int k = 0; k < 3; k++)
            MUST(pthread_create(&threads[k], NULL, kinds[k], NULL) == 0);
        while (started < 3) {
            free(allocate(8));
            sched_yield();
        }
        for (int k = 0; k < 3; k++)
            MUST(pthread_cancel(threads[k]) == 0);
        for (int k = 0; k < 3; k++) {
            MUST(pthread_join(threads[k], &result) == 0);
            cancelled += result == PTHREAD_CANCELED;
        }
    }
    say("cancelled %d, cleaned up %d\n", cancelled, (int)cleaned);
    return 0;
}
