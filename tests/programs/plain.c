// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The simplest program of all, in any libc: a thousand blocks through known functions, ten of which stay.
#include "program.h"

static NOINLINE void *outer(size_t size)
{
    void *block = allocate(size);
    __asm__ volatile("" : "+r"(block));
    return block;
}

int main(void)
{
    void *blocks[1000];
    for (size_t i = 0; i < 1000; i++)
        blocks[i] = outer(100 + i);
    for (size_t i = 0; i < 990; i++)
        free(blocks[i]);
    say("uid %d, effective %d: 1000 blocks\n", (int)getuid(), (int)geteuid());
    return 0;
}
