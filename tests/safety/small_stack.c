// SPDX-License-Identifier: MIT OR Apache-2.0
//
// small_stack SIZE: allocates in a signal handler that runs on a stack of that size, below which nothing can be
// touched. Prints how much of it was left untouched.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, FILL = 0xa5, GUARD = 2 * PAGE };

static void *volatile kept[64];
static unsigned count;

static __attribute__((noinline)) void handle(int signal)
{
    (void)signal;
    kept[count++ % 64] = malloc(333);
    free(kept[count % 64]);
    kept[count % 64] = NULL;
}

int main(int argument_count, char **arguments)
{
    size_t size = argument_count > 1 ? strtoul(arguments[1], NULL, 0) : 0;
    size_t room = (size + PAGE - 1) & ~(size_t)(PAGE - 1);
    free(kept[0] = malloc(10));
    kept[0] = NULL;
    unsigned char *memory = mmap(NULL, GUARD + room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory + GUARD, room, PROT_READ | PROT_WRITE))
        return 2;
    memset(memory + GUARD, FILL, room);
    stack_t stack = {.ss_sp = memory + GUARD + room - size, .ss_size = size};
    if (sigaltstack(&stack, NULL))
        return 3; // it is too small for the kernel
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    // Another stack each time, so that none is known.
    raise(SIGUSR1);
    raise(SIGUSR2);
    for (int i = 0; i < 3000; i++)
        raise(SIGUSR1);
    size_t untouched = 0;
    while (untouched < room && memory[GUARD + untouched] == FILL)
        untouched++;
    printf("%zu\n", untouched);
    return 0;
}
