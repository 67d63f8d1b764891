// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Does what makes a recorder call the kernel: allocates, maps, starts threads, forks, loads a library, renames itself.
// "refused number NAME" prints the number of a system call, or nothing when this machine has none of that name.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 3, BLOCKS = 20000, KEPT = 100 };

static const struct {
    const char *name;
    int number;
} calls[] = {
#include "refused_calls.h"
};

static void *allocate(void *unused)
{
    char *kept[KEPT] = {0};
    for (size_t i = 0; i < BLOCKS; i++) {
        free(kept[i % KEPT]);
        kept[i % KEPT] = malloc(1 + i % 900);
        if (!kept[i % KEPT])
            abort();
        memset(kept[i % KEPT], (int)i, 1 + i % 900);
    }
    for (int i = 0; i < KEPT; i++)
        free(kept[i]);
    return unused;
}

static void map_and_unmap(void)
{
    char *memory = mmap(NULL, 100000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        abort();
    memory[0] = 1;
    memory = mremap(memory, 100000, 300000, MREMAP_MAYMOVE);
    if (memory == MAP_FAILED || munmap(memory, 300000))
        abort();
}

static int child(void)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        allocate(NULL);
        exit(9);
    }
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int print_number(const char *name)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (!strcmp(calls[i].name, name))
            printf("%d\n", calls[i].number);
    return 0;
}

int main(int count, char **arguments)
{
    pthread_t threads[THREADS];
    if (count == 3)
        return print_number(arguments[2]);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, allocate, NULL))
            abort();
    allocate(NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    map_and_unmap();
    void *library = dlopen("libm.so.6", RTLD_NOW);
    int loaded = library != NULL;
    if (loaded)
        dlclose(library);
    char *kept = strdup("kept");
    printf("%s, child %d, library %d\n", kept, child(), loaded);
    return 7;
}
