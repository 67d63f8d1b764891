// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Allocates before main, after main and in every stage between.
#include "program.h"

static void *blocks[8];

__attribute__((constructor(101))) static void first(void)
{
    blocks[0] = allocate(101);
}

__attribute__((constructor)) static void second(void)
{
    blocks[1] = allocate(102);
    blocks[2] = allocate(103);
}

__attribute__((destructor)) static void last(void)
{
    free(blocks[0]);
    blocks[3] = allocate(104);
}

__attribute__((destructor(101))) static void very_last(void)
{
    free(blocks[1]);
    blocks[4] = allocate(105);
    say("destructors ran\n");
}

static void at_exit(void)
{
    free(blocks[2]);
    blocks[5] = allocate(106);
}

int main(void)
{
    atexit(at_exit);
    blocks[6] = allocate(107);
    say("constructors ran: %d\n", blocks[0] && blocks[1] && blocks[2]);
    return 7;
}
