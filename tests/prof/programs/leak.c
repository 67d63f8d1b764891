// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Two functions that leak: 80 blocks of 0 to 79 KiB and 40 blocks of 0 to 156 KiB, 6,430,720 bytes in all.
#include <stdlib.h>

static void *volatile kept;

static void do_something(size_t i)
{
    kept = malloc(i * 1024);
}

static void do_something_else(size_t i)
{
    kept = malloc(i * 4096);
}

int main(void)
{
    for (size_t i = 0; i < 80; i++)
        do_something(i);
    for (size_t i = 0; i < 40; i++)
        do_something_else(i);
    return 0;
}
