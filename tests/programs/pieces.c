// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Maps code in thousands of pieces, as programs do that make code, then loads a library, and allocates in it.
// Usage: pieces COUNT
#include "program.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <sys/mman.h>

static void map_pieces(size_t count)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pieces = mmap(NULL, count * 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    MUST(pieces != MAP_FAILED);
    for (size_t i = 0; i < count; i++)
        MUST(mprotect(pieces + i * 2 * page, page, PROT_READ | PROT_EXEC) == 0);
}

int main(int count, char **arguments)
{
    char path[PATH_MAX + 32], folder[PATH_MAX] = "";
    void *(*plugin_allocate)(int, size_t);
    MUST(count == 2 && readlink("/proc/self/exe", folder, sizeof folder - 1) > 0);
    snprintf(path, sizeof path, "%s/libheapsonde_test_plugin0.so", dirname(folder));
    map_pieces((size_t)atoi(arguments[1]));
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    MUST(library);
    *(void **)&plugin_allocate = dlsym(library, "plugin_allocate");
    MUST(plugin_allocate);
    for (int i = 0; i < 100; i++)
        free(plugin_allocate(1, 100));
    MUST(dlclose(library) == 0);
    say("100 blocks\n");
    return 0;
}
