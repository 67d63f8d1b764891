// SPDX-License-Identifier: MIT OR Apache-2.0
//
// contest ROUNDS   eight threads allocate, move, hand over and free by every function, requests that must fail among
//                  them, while others dump and switch; prints the code they run in, "code FROM TO", and what is live,
//                  "live BLOCKS BYTES", and dumps to "end.heap"
// contest ROUNDS freed   the same, but then a forked child frees all that is live, and dumps to "child.heap"; then its
//                  parent
// contest sizes    whether one call of each function counts as the size of its block, and its free as the same
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8, SLOTS = 512, SHARED = 1024, FUNCTIONS = 8 };
#define CONTEST  __attribute__((noinline, section("contest")))
#define MUST(of) ((of) ? (void)0 : fail(#of))

extern const char __start_contest[], __stop_contest[];

static int (*mallctl)(const char *name, void *old, size_t *old_length, void *new, size_t new_length);
static int rounds;
static atomic_bool over;
static atomic_long live_blocks, live_bytes;
static _Atomic(void *) shared[SHARED];
static void *slots[THREADS][SLOTS];

static void fail(const char *what)
{
    fprintf(stderr, "not so: %s\n", what);
    _exit(1);
}

// ---- the allocators -------------------------------------------------------------------------------------------------

CONTEST void *allocate(unsigned function, size_t size)
{
    void *block = NULL;
    switch (function % FUNCTIONS) {
    case 0:
        return malloc(size);
    case 1:
        return calloc(size, 1);
    case 2:
        return aligned_alloc(64, (size + 63) & ~(size_t)63);
    case 3:
        MUST(posix_memalign(&block, 128, size) == 0);
        return block;
    case 4:
        return memalign(256, size);
    case 5:
        return valloc(size);
    case 6:
        return realloc(NULL, size);
    default:
        return reallocarray(NULL, size, 1);
    }
}

// An empty block counts as a byte where nothing of it can be used.
static size_t counted_size(void *block)
{
    size_t usable = block ? malloc_usable_size(block) : 0;
    return block && usable == 0 ? 1 : usable;
}

static void count(void *block, long sign)
{
    live_blocks += block ? sign : 0;
    live_bytes += sign * (long)counted_size(block);
}

CONTEST void *reallocate(void *block, size_t size)
{
    count(block, -1);
    block = realloc(block, size);
    count(block, 1);
    return block;
}

CONTEST void refuse(void *block)
{
    volatile size_t huge = SIZE_MAX / 2 + 1, large = (size_t)1 << (sizeof large * 4 + 1);
    MUST(!realloc(block, huge));
    MUST(!reallocarray(block, large, large));
    MUST(!calloc(large, large));
    MUST(!malloc(huge));
    MUST(!aligned_alloc(64, huge));
}

CONTEST void *step(void *block, uint32_t random)
{
    size_t size = random % 50 ? random % 2000 : 200000;
    switch (random / 64 % 6) {
    case 0:
        return reallocate(block, size);
    case 1:
        if (random / 512 % 64 == 0)
            refuse(block);
        return block;
    case 2:
        return atomic_exchange(&shared[random / 512 % SHARED], block);
    case 3:
        if (block)
            return reallocate(block, 0);
        // fall through
    case 4:
        if (!block) {
            block = allocate(random / 4096, size);
            count(block, 1);
            return block;
        }
        // fall through
    default:
        count(block, -1);
        free(block);
        return NULL;
    }
}

CONTEST void *run(void *number)
{
    uint64_t state = (uintptr_t)number + 1;
    for (int i = 0; i < rounds; i++) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        void **slot = &slots[(uintptr_t)number][state >> 55];
        *slot = step(*slot, (uint32_t)(state >> 24));
    }
    return NULL;
}

// ---- the others -----------------------------------------------------------------------------------------------------

static void *disturb(void *unused)
{
    const char *name = "between.heap";
    uint64_t epoch = 1;
    for (bool on = true; !over; on = !on) {
        bool always = true;
        mallctl("prof.gdump", NULL, NULL, &on, sizeof on);
        mallctl("prof.active", NULL, NULL, &always, sizeof always);
        mallctl("epoch", NULL, NULL, &epoch, sizeof epoch);
        mallctl("prof.dump", NULL, NULL, &name, sizeof name);
    }
    return unused;
}

static void free_all(void)
{
    for (int i = 0; i < THREADS * SLOTS; i++) {
        free(slots[i / SLOTS][i % SLOTS]);
        slots[i / SLOTS][i % SLOTS] = NULL;
    }
    for (int i = 0; i < SHARED; i++)
        free(atomic_exchange(&shared[i], NULL));
    live_blocks = live_bytes = 0;
}

static void free_all_in_a_child(void)
{
    const char *name = "child.heap";
    int status = 1;
    pid_t child = fork();
    MUST(child >= 0);
    if (child == 0) {
        free_all();
        MUST(mallctl("prof.dump", NULL, NULL, &name, sizeof name) == 0);
        _exit(0);
    }
    MUST(waitpid(child, &status, 0) == child && status == 0);
}

static void hold_contest(bool freed)
{
    pthread_t threads[THREADS], other;
    const char *name = "end.heap";
    MUST(pthread_create(&other, NULL, disturb, NULL) == 0);
    for (uintptr_t i = 0; i < THREADS; i++)
        MUST(pthread_create(&threads[i], NULL, run, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    over = true;
    pthread_join(other, NULL);
    if (freed) {
        free_all_in_a_child();
        free_all();
    }
    printf("code %#jx %#jx\nlive %ld %ld\n", (uintmax_t)(uintptr_t)__start_contest,
           (uintmax_t)(uintptr_t)__stop_contest, (long)live_blocks, (long)live_bytes);
    fflush(stdout);
    MUST(mallctl("prof.dump", NULL, NULL, &name, sizeof name) == 0);
}

// ---- sizes ----------------------------------------------------------------------------------------------------------

static uint64_t counter(const char *name)
{
    uint64_t value = 0;
    size_t length = sizeof value;
    MUST(mallctl(name, &value, &length, NULL, 0) == 0);
    return value;
}

static void check_counts(const char *what, unsigned number, uint64_t allocated, uint64_t freed, void *block)
{
    size_t expected = counted_size(block);
    uint64_t got = counter("thread.allocated") - allocated, given = counter("thread.deallocated") - freed;
    if (got != expected)
        printf("%s %u: %ju bytes counted, not %zu\n", what, number, (uintmax_t)got, expected);
    if (!block && !given)
        printf("%s %u: nothing counted\n", what, number);
}

static void check_sizes(size_t size)
{
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        uint64_t allocated = counter("thread.allocated"), freed = counter("thread.deallocated");
        void *block = allocate(i, size);
        check_counts("function", i, allocated, freed, block);
        allocated = counter("thread.allocated");
        block = realloc(block, size * 20 + 1);
        check_counts("moved, of function", i, allocated, freed, block);
        uint64_t live = counter("thread.allocated") - counter("thread.deallocated");
        freed = counter("thread.deallocated");
        allocated = counter("thread.allocated");
        size_t usable = malloc_usable_size(block);
        free(block);
        check_counts("free, of function", i, allocated, freed, NULL);
        if (live - (counter("thread.allocated") - counter("thread.deallocated")) != usable)
            printf("function %u: its free counts otherwise\n", i);
    }
}

static void check_empty(void)
{
    uint64_t live = counter("thread.allocated") - counter("thread.deallocated");
    for (int i = 0; i < 100; i++)
        free(malloc(0));
    if (counter("thread.allocated") - counter("thread.deallocated") != live)
        printf("live bytes drift with empty blocks\n");
}

int main(int argument_count, char **arguments)
{
    *(void **)&mallctl = dlsym(RTLD_DEFAULT, "mallctl");
    MUST(mallctl && argument_count >= 2);
    if (strcmp(arguments[1], "sizes")) {
        rounds = atoi(arguments[1]);
        hold_contest(argument_count > 2);
    } else {
        check_sizes(100);
        check_sizes(5000);
        check_empty();
    }
    return 0;
}
