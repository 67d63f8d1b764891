// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Loads a library that is bound to itself and its own libraries first, and lets it allocate a thousand blocks.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    void *library = dlopen("libbound.so", RTLD_NOW | RTLD_DEEPBIND);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    void *(*allocate)(size_t) = (void *(*)(size_t))dlsym(library, "allocate_bound");
    for (int i = 0; i < 1000; i++)
        free(allocate(1000));
    return 0;
}
