// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Makes N children by vfork, from a thread that has allocated before and one that has not; they allocate in their
// parent's memory while its other threads do, and end by _exit. Prints what went wrong.
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, SLOTS = 100, BLOCKS = 50, STATUS = 3 };

static atomic_bool over;
static void *kept[BLOCKS];

static void *allocate(void *number)
{
    void *slots[SLOTS] = {NULL};
    uint64_t state = (uintptr_t)number;
    while (!over) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        void **slot = &slots[(state >> 33) % SLOTS];
        free(*slot);
        *slot = malloc((state >> 45) % 3000);
    }
    return NULL;
}

// Nothing but what the child calls may lie in this frame.
static __attribute__((noinline)) pid_t make_child(void)
{
    pid_t child = vfork();
    if (child)
        return child;
    for (int i = 0; i < BLOCKS; i++)
        kept[i] = malloc(100000);
    for (int i = 0; i < BLOCKS; i++)
        free(kept[i]);
    _exit(STATUS);
}

static void *make_children(void *count)
{
    for (intptr_t i = 0; i < (intptr_t)count; i++) {
        int status;
        pid_t child = make_child();
        if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != STATUS)
            printf("child %d ended with %#x\n", (int)i, status);
    }
    return NULL;
}

int main(int argument_count, char **arguments)
{
    pthread_t threads[THREADS], fresh;
    void *count = (void *)(intptr_t)(argument_count > 1 ? atoi(arguments[1]) : 1);
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, allocate, (void *)i);
    make_children(count);
    pthread_create(&fresh, NULL, make_children, count);
    pthread_join(fresh, NULL);
    over = true;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
