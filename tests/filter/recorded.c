// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A program that is recorded: what its functions do is known to the test.
#include <stdlib.h>
#include <string.h>

#define BLOCKS 90

static void *volatile kept[BLOCKS];

__attribute__((noinline)) static void *keep_every_third(int i)
{
    void *block = malloc(20 + (size_t)i);
    return block;
}

__attribute__((noinline)) static void *drop_others(int i)
{
    void *block = calloc(3, 10 + (size_t)i);
    return block;
}

__attribute__((noinline)) static void grow(void)
{
    char *text = malloc(10);
    for (size_t size = 20; size < 3000; size *= 2) {
        text = realloc(text, size);
        memset(text, 'x', size);
    }
    free(text);
}

__attribute__((noinline)) static void *take_large(size_t size)
{
    void *block = malloc(size);
    if (block)
        memset(block, 1, 100);
    return block;
}

int main(void)
{
    for (int i = 0; i < BLOCKS; i++)
        kept[i] = i % 3 ? drop_others(i) : keep_every_third(i);
    for (int i = 0; i < BLOCKS; i++) {
        if (i % 3)
            free(kept[i]);
    }
    for (int i = 0; i < 5; i++)
        grow();
    void *volatile large = take_large(10 << 20);
    kept[1] = take_large(20 << 20);
    free(large);
    return 0;
}
