// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Prints what nallocx() and the tables of size classes say.
#include "calls.h"

#include <stdint.h>

static size_t (*nallocx)(size_t size, int flags);

static size_t read_size(const char *format, unsigned i)
{
    char name[64];
    size_t size = 0, length = sizeof size;
    snprintf(name, sizeof name, format, i);
    return mallctl(name, &size, &length, NULL, 0) == 0 ? size : 0;
}

int main(void)
{
    find_calls();
    *(void **)&nallocx = dlsym(RTLD_DEFAULT, "nallocx");
    if (!nallocx)
        return 2;
    uint64_t sum = 0;
    for (size_t size = 1; size < 300000; size++)
        sum = sum * 31 + nallocx(size, 0);
    printf("sum %llu\n", (unsigned long long)sum);
    for (unsigned bit = 3; bit < sizeof(size_t) * 8; bit++)
        for (int offset = -1; offset <= 1; offset++)
            printf("nallocx %u%+d: %zu\n", bit, offset, nallocx(((size_t)1 << bit) + (size_t)offset, 0));
    for (int flags = 0; flags < 24; flags++)
        for (size_t size = 1; size < 200000; size = size * 3 + 1)
            printf("nallocx %zu aligned %d: %zu\n", size, flags, nallocx(size, flags));
    for (unsigned i = 0; i < 36; i++)
        printf("bin %u: %zu of %zu\n", i, read_size("arenas.bin.%u.size", i), read_size("arenas.bin.%u.slab_size", i));
    for (unsigned i = 0; i < 196; i++)
        printf("large %u: %zu\n", i, read_size("arenas.lextent.%u.size", i));
    return 0;
}
