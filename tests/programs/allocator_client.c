// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Linked with another allocator, whose name is the argument; says whether that allocator is really the one in use.
#include "program.h"

#include <dlfcn.h>
#include <malloc.h>

int main(int count, char **arguments)
{
    const char *name = count > 1 ? arguments[1] : "jemalloc";
    void *blocks[1000];
    for (size_t i = 0; i < 1000; i++)
        blocks[i] = allocate(i + 1);
    say("%s\n", name);
    if (!strcmp(name, "jemalloc")) {
        int (*mallctl)(const char *, void *, size_t *, void *, size_t);
        *(void **)&mallctl = dlsym(RTLD_DEFAULT, "mallctl");
        MUST(mallctl);
        uint64_t epoch = 1, allocated = 0;
        size_t length = sizeof allocated;
        MUST(mallctl("epoch", NULL, NULL, &epoch, sizeof epoch) == 0);
        MUST(mallctl("stats.allocated", &allocated, &length, NULL, 0) == 0);
        say("holds our blocks: %d\n", allocated > 500 * 1000);
    } else if (!strcmp(name, "tcmalloc")) {
        // The C face of MallocExtension.
        int (*property)(const char *, size_t *);
        *(void **)&property = dlsym(RTLD_DEFAULT, "MallocExtension_GetNumericProperty");
        MUST(property);
        size_t allocated = 0;
        MUST(property("generic.current_allocated_bytes", &allocated));
        say("holds our blocks: %d\n", allocated > 500 * 1000);
    } else if (!strcmp(name, "mimalloc")) {
        _Bool (*in_heap)(const void *);
        *(void **)&in_heap = dlsym(RTLD_DEFAULT, "mi_is_in_heap_region");
        MUST(in_heap);
        int held = 0;
        for (int i = 0; i < 1000; i++)
            held += in_heap(blocks[i]);
        say("holds our blocks: %d\n", held == 1000);
    }
    for (size_t size = 1; size < 100000; size = size * 2 + 3)
        say("usable(%zu) %zu\n", size, malloc_usable_size(keep(malloc(size))));
    for (size_t i = 0; i < 1000; i++)
        free(blocks[i]);
    for (size_t i = 0; i < 1000; i++) {
        void *block = keep(aligned_alloc(64, 64 * (1 + i % 10)));
        block = keep(realloc(block, 100 + i));
        MUST(block);
        free(block);
    }
    return 0;
}
