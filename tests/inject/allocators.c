// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A process with several allocators. Each has a function of rounds; what these allocate is counted. It reads words from
// standard input and answers each with a line:
//
//   work N    N rounds of each in this thread and in two new ones; answers what each round function has allocated
//   fork      forks a child, which does 50 rounds, says the same in the file "child" of its folder, and ends
//   leave     frees what is still there and ends by exit()
//
// Arguments: a number of rounds with which it works at its start, before it says "ready".
#include "toy_allocator.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MORE_THREADS = 2 };

static void *checked(void *block, size_t size)
{
    if (!block)
        abort();
    return memset(block, 1, size);
}

// What each round allocates is its result.
__attribute__((noinline)) static int round_libc(size_t size)
{
    char *first = checked(malloc(size), size), *second = checked(calloc(2, size), size);
    first = checked(realloc(first, 3 * size), size);
    free(first);
    free(second);
    return 3;
}

__attribute__((noinline)) static int round_toy(size_t size)
{
    char *first = checked(toy_malloc(size), size), *second = checked(toy_calloc(2, size), size);
    first = checked(toy_realloc(first, 3 * size), size);
    toy_free(first);
    toy_free(second);
    return 3;
}

#ifdef WITH_JEMALLOC
void *je_malloc(size_t size);
void *je_calloc(size_t count, size_t size);
void *je_realloc(void *block, size_t size);
void *je_aligned_alloc(size_t alignment, size_t size);
int je_posix_memalign(void **block, size_t alignment, size_t size);
void *je_mallocx(size_t size, int flags);
void *je_rallocx(void *block, size_t size, int flags);
size_t je_xallocx(void *block, size_t size, size_t extra, int flags);
void je_free(void *block);
void je_dallocx(void *block, int flags);
void je_sdallocx(void *block, size_t size, int flags);

__attribute__((noinline)) static int round_jemalloc(size_t size)
{
    void *blocks[5] = {je_malloc(size), je_calloc(2, size), je_aligned_alloc(64, 64 * size), je_mallocx(size, 0)};
    if (je_posix_memalign(&blocks[4], 128, size))
        abort();
    blocks[0] = checked(je_realloc(blocks[0], 4 * size), size);
    blocks[3] = checked(je_rallocx(blocks[3], 5 * size, 0), size);
    size_t now = je_xallocx(blocks[3], 5 * size, 0, 0); // changes nothing
    je_free(blocks[0]);
    je_free(blocks[1]);
    je_dallocx(blocks[2], 0);
    je_sdallocx(blocks[3], now, 0);
    je_free(blocks[4]);
    return 7;
}
#endif

#ifdef WITH_MIMALLOC
#include <mimalloc.h>

__attribute__((noinline)) static int round_mimalloc(size_t size)
{
    mi_heap_t *heap = mi_heap_new();
    void *blocks[8] = {mi_malloc(size),
                       mi_zalloc(size),
                       mi_malloc_aligned(size, 64),
                       mi_strdup("text"),
                       mi_heap_malloc(heap, size),
                       mi_calloc_aligned(3, size, 32),
                       mi_mallocn(2, size)};
    if (mi_posix_memalign(&blocks[7], 128, size))
        abort();
    blocks[0] = checked(mi_realloc(blocks[0], 4 * size), size);
    blocks[1] = checked(mi_rezalloc_aligned(blocks[1], 5 * size, 64), size);
    blocks[4] = checked(mi_heap_recalloc_aligned_at(heap, blocks[4], 2, size, 64, 0), size);
    mi_free_size(blocks[7], size);
    mi_free_aligned(blocks[2], 64);
    mi_free(blocks[0]);
    mi_free(blocks[1]);
    for (int i = 3; i < 7; i++)
        mi_free(blocks[i]);
    mi_heap_delete(heap);
    return 8 + 3 + 1; // and the heap itself
}
#endif

#ifdef WITH_TCMALLOC
void *tc_malloc(size_t size);
void *tc_new(size_t size);
void *tc_newarray(size_t size);
void *tc_memalign(size_t alignment, size_t size);
void *tc_realloc(void *block, size_t size);
void tc_free(void *block);
void tc_delete(void *block);
void tc_deletearray(void *block);

__attribute__((noinline)) static int round_tcmalloc(size_t size)
{
    void *blocks[4] = {tc_malloc(size), tc_new(size), tc_newarray(size), tc_memalign(64, size)};
    blocks[0] = checked(tc_realloc(blocks[0], 4 * size), size);
    tc_free(blocks[0]);
    tc_delete(blocks[1]);
    tc_deletearray(blocks[2]);
    tc_free(blocks[3]);
    return 5;
}
#endif

typedef int round_function(size_t size);

static const struct {
    const char *name;
    round_function *go;
} rounds[] = {
    {"round_libc", round_libc},         {"round_toy", round_toy},
#ifdef WITH_JEMALLOC
    {"round_jemalloc", round_jemalloc},
#endif
#ifdef WITH_MIMALLOC
    {"round_mimalloc", round_mimalloc},
#endif
#ifdef WITH_TCMALLOC
    {"round_tcmalloc", round_tcmalloc},
#endif
};

enum { ROUNDS = sizeof rounds / sizeof *rounds };

static _Atomic long allocated[ROUNDS];

static void *work(void *number)
{
    for (long i = 0; i < (long)number; i++)
        for (size_t j = 0; j < ROUNDS; j++)
            allocated[j] += rounds[j].go(16 + (size_t)i % 300);
    return NULL;
}

static void work_in_threads(long number)
{
    pthread_t threads[MORE_THREADS];
    for (int i = 0; i < MORE_THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)number))
            abort();
    work((void *)number);
    for (int i = 0; i < MORE_THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void say(FILE *to)
{
    for (size_t i = 0; i < ROUNDS; i++)
        fprintf(to, "%s=%ld ", rounds[i].name, allocated[i]);
    fprintf(to, "\n");
    fflush(to);
}

static void work_in_child(void)
{
    pid_t child = fork();
    if (child < 0)
        abort();
    if (child > 0) {
        waitpid(child, NULL, 0);
        return;
    }
    memset(allocated, 0, sizeof allocated);
    work((void *)50L);
    FILE *file = fopen("child", "w");
    if (file)
        say(file);
    exit(0);
}

int main(int count, char **arguments)
{
    char line[64];
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    setvbuf(stdin, NULL, _IONBF, 0);
    work_in_threads(count > 1 ? atol(arguments[1]) : 1);
    printf("ready\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        if (!strncmp(line, "work ", 5)) {
            memset(allocated, 0, sizeof allocated);
            work_in_threads(atol(line + 5));
        } else if (!strcmp(line, "fork\n")) {
            work_in_child();
        } else if (!strcmp(line, "leave\n")) {
            break;
        }
        say(stdout);
    }
    exit(3);
}
