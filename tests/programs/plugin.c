// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Loaded and unloaded over and over by dlopen_loop.
#include "program.h"

static void *own;

__attribute__((constructor)) static void loaded(void)
{
    own = allocate(48);
}

__attribute__((destructor)) static void unloaded(void)
{
    free(own);
}

__attribute__((visibility("default"))) void *plugin_allocate(int depth, size_t size);

NOINLINE void *plugin_allocate(int depth, size_t size)
{
    if (depth == 0)
        return allocate(size);
    void *block = plugin_allocate(depth - 1, size);
    __asm__ volatile("" : "+r"(block));
    return block;
}
