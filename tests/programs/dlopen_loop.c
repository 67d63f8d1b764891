// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Four threads load, call and unload a library each, while two more allocate all the time.
// Usage: dlopen_loop ROUNDS
#include "program.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

static int rounds;
static char folder[PATH_MAX];
static atomic_bool stop;

static void *loads(void *number)
{
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/libheapsonde_test_plugin%d.so", folder, (int)(intptr_t)number);
    for (int i = 0; i < rounds; i++) {
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!library)
            say("%s\n", dlerror());
        MUST(library);
        void *(*plugin_allocate)(int, size_t);
        *(void **)&plugin_allocate = dlsym(library, "plugin_allocate");
        MUST(plugin_allocate);
        for (int depth = 0; depth < 8; depth++)
            free(plugin_allocate(depth, 100));
        void *outlives = plugin_allocate(3, 200);
        MUST(dlclose(library) == 0);
        free(outlives);
    }
    return NULL;
}

static void *allocates(void *unused)
{
    (void)unused;
    while (!stop)
        free(allocate(64));
    return NULL;
}

int main(int count, char **arguments)
{
    rounds = count > 1 ? atoi(arguments[1]) : 100;
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    MUST(length > 0);
    dirname(folder);
    pthread_t threads[6];
    for (int t = 0; t < 4; t++)
        MUST(pthread_create(&threads[t], NULL, loads, (void *)(intptr_t)t) == 0);
    for (int t = 4; t < 6; t++)
        MUST(pthread_create(&threads[t], NULL, allocates, NULL) == 0);
    for (int t = 0; t < 4; t++)
        pthread_join(threads[t], NULL);
    stop = 1;
    for (int t = 4; t < 6; t++)
        pthread_join(threads[t], NULL);
    say("4 threads, %d rounds each\n", rounds);
    return 0;
}
