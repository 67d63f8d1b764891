// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Leaves a block behind in each of 4096 stacks, three times.
#include <stdlib.h>

static void *volatile kept;
static volatile int rounds = 3; // not known to the compiler, so that there is one call site for all

// Each level has four call sites.
static __attribute__((noinline)) void descend(int levels)
{
    if (!levels) {
        kept = malloc(16);
        return;
    }
    descend(levels - 1);
    __asm__ volatile("");
    descend(levels - 1);
    __asm__ volatile("");
    descend(levels - 1);
    __asm__ volatile("");
    descend(levels - 1);
    __asm__ volatile("");
}

int main(void)
{
    for (int round = 0; round < rounds; round++)
        descend(6);
    return 0;
}
