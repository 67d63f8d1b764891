// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Allocates when it is told to: each byte on standard input is a command, answered by a line.
//   c  fills a cache of 50 blocks of 1000 bytes    l  loses 10 blocks of 40000 bytes    e  ends
//   t  allocates and frees a block
#include <stdio.h>
#include <stdlib.h>

void *volatile grower_last;

__attribute__((noinline)) static void *keep(size_t size)
{
    return grower_last = malloc(size);
}

__attribute__((noinline)) static void grower_fill_cache(void)
{
    for (int i = 0; i < 50; i++)
        keep(1000);
    puts("filled");
}

__attribute__((noinline)) static void grower_lose(void)
{
    for (int i = 0; i < 10; i++)
        keep(40000);
    puts("lost");
}

__attribute__((noinline)) static void grower_turn_over(void)
{
    free(keep(500));
    puts("freed");
}

int main(void)
{
    static char out[64];
    setvbuf(stdout, out, _IOLBF, sizeof(out));
    for (int command; (command = getchar()) != EOF && command != 'e';) {
        if (command == 'c')
            grower_fill_cache();
        if (command == 'l')
            grower_lose();
        if (command == 't')
            grower_turn_over();
    }
    return 0;
}
