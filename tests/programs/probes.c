// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Blocks below frames so large that the compiler touches every page of them, in loops, without tables for any of it.
#include "program.h"

#define FRAME(name, size)                                                                                              \
    static NOINLINE void name(int place)                                                                               \
    {                                                                                                                  \
        volatile char bytes[size];                                                                                     \
        keep((void *)&bytes[place]);                                                                                   \
        free(allocate((size) / 100));                                                                                  \
        keep((void *)&bytes[place + 1]);                                                                               \
    }
FRAME(pages, 8192)
FRAME(more_pages, 20000)
FRAME(many_pages, 200000)
FRAME(megabyte, 1000000)

static NOINLINE void as_many_as_it_says(int size)
{
    volatile char bytes[size];
    keep((void *)bytes);
    free(allocate((size_t)size / 100));
    keep((void *)&bytes[size - 1]);
}

int main(void)
{
    for (int i = 0; i < 10; i++) {
        pages(i);
        more_pages(i);
        many_pages(i);
        megabyte(i);
        as_many_as_it_says(10000 + 1000 * i);
    }
    say("50 blocks\n");
    return 0;
}
