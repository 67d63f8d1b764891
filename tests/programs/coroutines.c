// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Coroutines that allocate at different depths of their own stacks. With the argument "move" four threads pass them
// around: a coroutine goes on in another thread than it was left in.
#include "program.h"

#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { COROUTINES = 16, STACK = 64 << 10, STEPS = 400 };

struct coroutine {
    ucontext_t self, caller;
    int steps;
    uint64_t seed;
    void *held[8];
};

static struct coroutine coroutines[COROUTINES];

static NOINLINE void leave(struct coroutine *c)
{
    swapcontext(&c->self, &c->caller);
}

static NOINLINE void descend(struct coroutine *c, int depth)
{
    int slot = depth % 8;
    free(c->held[slot]);
    c->held[slot] = allocate(24 + (size_t)depth);
    leave(c);
    if (depth > 0)
        descend(c, depth - 1);
    free(allocate(40));
    __asm__ volatile("" ::: "memory");
}

static void entry(unsigned low, unsigned high)
{
    struct coroutine *c = (struct coroutine *)(uintptr_t)(low | (uint64_t)high << 32);
    for (;;)
        descend(c, (int)(random_next(&c->seed) % 20));
}

static NOINLINE void enter(struct coroutine *c)
{
    c->steps++;
    swapcontext(&c->caller, &c->self);
}

static pthread_barrier_t barrier;

// In every round each thread takes other coroutines than in the round before.
static void *passes(void *number)
{
    int thread = (int)(intptr_t)number;
    for (int round = 0; round < STEPS; round++) {
        for (int i = 0; i < COROUTINES / 4; i++)
            enter(&coroutines[((thread + round) % 4) * (COROUTINES / 4) + i]);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(int count, char **arguments)
{
    for (int i = 0; i < COROUTINES; i++) {
        struct coroutine *c = &coroutines[i];
        c->seed = (uint64_t)i + 1;
        MUST(getcontext(&c->self) == 0);
        c->self.uc_stack.ss_sp = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        c->self.uc_stack.ss_size = STACK;
        c->self.uc_link = NULL;
        makecontext(&c->self, (void (*)(void))entry, 2, (unsigned)(uintptr_t)c,
                    (unsigned)((uint64_t)(uintptr_t)c >> 32));
    }
    if (count > 1 && !strcmp(arguments[1], "move")) {
        pthread_t threads[4];
        pthread_barrier_init(&barrier, NULL, 4);
        for (int t = 0; t < 4; t++)
            MUST(pthread_create(&threads[t], NULL, passes, (void *)(intptr_t)t) == 0);
        for (int t = 0; t < 4; t++)
            pthread_join(threads[t], NULL);
    } else {
        for (int round = 0; round < STEPS; round++)
            for (int i = 0; i < COROUTINES; i++)
                enter(&coroutines[(i * 7 + round) % COROUTINES]);
    }
    int steps = 0;
    for (int i = 0; i < COROUTINES; i++)
        steps += coroutines[i].steps;
    say("%d steps\n", steps);
    return 0;
}
