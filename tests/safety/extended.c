// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Allocates with jemalloc's own functions and with malloc, and mixes both.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define WEAK __attribute__((weak))
WEAK void *mallocx(size_t size, int flags);
WEAK void *rallocx(void *block, size_t size, int flags);
WEAK size_t xallocx(void *block, size_t size, size_t extra, int flags);
WEAK void dallocx(void *block, int flags);
WEAK void sdallocx(void *block, size_t size, int flags);

enum { ROUNDS = 100, ALIGNED_4096 = 12, ZERO = 64, LARGE = 100000 };

static int check(const char *block, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (block[i])
            return 1;
    return 0;
}

int main(void)
{
    if (!mallocx)
        return 77;
    for (int i = 0; i < ROUNDS; i++) {
        char *block = mallocx(1000, ZERO | ALIGNED_4096);
        if (!block || (uintptr_t)block % 4096 || check(block, 1000))
            return 1;
        memset(block, 1, 1000);
        block = rallocx(block, LARGE, ZERO);
        if (!block || block[999] != 1 || check(block + LARGE / 2, LARGE / 2))
            return 2;
        if (xallocx(block, LARGE / 4, 0, 0) < LARGE / 4)
            return 3;
        dallocx(block, 0);
        char *given = malloc(200);
        if (!given)
            return 4;
        sdallocx(given, 200, 0);
        char *kept = mallocx(300, 0), *aligned = rallocx(malloc(10), 400, ALIGNED_4096);
        if (!kept || !aligned || (uintptr_t)aligned % 4096)
            return 5;
    }
    return 5;
}
