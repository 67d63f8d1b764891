// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Leaves deep stacks by longjmp between allocations, and walks down again to other depths.
#include "program.h"

#include <setjmp.h>

static jmp_buf back;
static void *last;

static NOINLINE void descend(int depth, int jump_at)
{
    volatile char frame[64 + (depth % 7) * 16];
    frame[0] = (char)depth;
    if (depth % 16 == 0) {
        free(last);
        last = allocate(16 + (size_t)depth);
    }
    if (depth == jump_at)
        longjmp(back, 1);
    descend(depth + 1, jump_at);
    frame[1] = frame[0];
}

int main(void)
{
    int volatile jumped = 0;
    uint64_t seed = 1;
    int rounds = fewer(20000);
    for (volatile int i = 0; i < rounds; i++) {
        int depth = (int)(random_next(&seed) % 200);
        if (setjmp(back) == 0)
            descend(0, depth);
        jumped++;
        free(allocate(32));
    }
    free(last);
    say("jumped %d times\n", jumped);
    return 0;
}
