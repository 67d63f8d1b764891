// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Threads that enter a namespace, or take a user's rights, again and again, and allocate: changing_rights
// namespace|user.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 8, ROUNDS = 300 };

static void *enter_namespaces(void *unused)
{
    int namespace = open("/proc/self/ns/uts", O_RDONLY);
    for (int i = 0; i < ROUNDS; i++) {
        setns(namespace, 0);
        free(malloc(1000));
    }
    close(namespace);
    return unused;
}

static void *take_rights(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        if (seteuid(geteuid()))
            abort();
        free(malloc(1000));
    }
    return unused;
}

int main(int count, char **arguments)
{
    pthread_t threads[THREADS];
    bool users = count > 1 && strcmp(arguments[1], "user") == 0;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, users ? take_rights : enter_namespaces, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    puts("fine");
    return 0;
}
