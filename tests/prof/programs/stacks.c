// SPDX-License-Identifier: MIT OR Apache-2.0
//
// stacks LEVELS kept|freed   allocates a block from each of 2^LEVELS stacks, keeps or frees it, and dumps to
// "stacks.heap"
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *volatile newest;
static int freed;

static void left(unsigned bits, int levels);
static void right(unsigned bits, int levels);

static void descend(unsigned bits, int levels)
{
    if (levels && (bits & 1))
        left(bits >> 1, levels - 1);
    else if (levels)
        right(bits >> 1, levels - 1);
    else if (newest = malloc(100), freed)
        free(newest);
}

static void left(unsigned bits, int levels)
{
    descend(bits, levels);
}

static void right(unsigned bits, int levels)
{
    descend(bits, levels);
}

int main(int count, char **words)
{
    const char *name = "stacks.heap";
    int (*mallctl)(const char *, void *, size_t *, void *, size_t);
    *(void **)&mallctl = dlsym(RTLD_DEFAULT, "mallctl");
    if (count != 3 || !mallctl)
        return 2;
    int levels = atoi(words[1]);
    freed = !strcmp(words[2], "freed");
    for (unsigned bits = 0; bits < 1u << levels; bits++)
        descend(bits, levels);
    return mallctl("prof.dump", NULL, NULL, (void *)&name, sizeof name);
}
