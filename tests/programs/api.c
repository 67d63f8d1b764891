// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Talks to the recorder, or to nobody when there is none. Usage: api toggles|signals|pool
#include "program.h"

#include "shims/trace/include/heapsonde.h"

#include <signal.h>

static NOINLINE void while_on(void)
{
    for (size_t i = 0; i < 100; i++)
        free(allocate(200 + i));
    __asm__ volatile("" ::: "memory");
}

static NOINLINE void while_off(void)
{
    for (size_t i = 0; i < 100; i++)
        free(allocate(200 + i));
    __asm__ volatile("" ::: "memory");
}

int main(int count, char **arguments)
{
    const char *mode = count > 1 ? arguments[1] : "toggles";
    errno = 77;
    if (!strcmp(mode, "toggles")) {
        while_on();
        for (int i = 0; i < 2; i++) {
            void *freed_while_off = allocate(50);
            heapsonde_stop();
            while_off();
            free(freed_while_off);
            heapsonde_start();
            while_on();
            heapsonde_mark((uint64_t)i, "a mark of the program");
            heapsonde_mark(7, NULL);
        }
        heapsonde_sync();
    } else if (!strcmp(mode, "signals")) {
        // Without a recorder the signals would end the program.
        while_off();
        if (heapsonde_present())
            raise(SIGUSR1);
        while_on();
        if (heapsonde_present())
            raise(SIGUSR2);
        while_off();
        if (heapsonde_present())
            raise(SIGUSR1);
        while_on();
    } else if (!strcmp(mode, "pool")) {
        static char arena[1 << 16];
        for (size_t i = 0; i < 100; i++)
            heapsonde_pool_alloc(1, arena + i * 64, 64);
        for (size_t i = 0; i < 60; i++)
            heapsonde_pool_free(1, arena + i * 64);
        while_on();
    } else {
        return 2;
    }
    say("%s, errno %d\n", mode, errno);
    return 0;
}
