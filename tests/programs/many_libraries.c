// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Loads many copies of a library, calls all, unloads every second one and loads others in their places.
// Usage: many_libraries COUNT FOLDER
#include "program.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <sys/stat.h>

enum { MOST = 1000 };

static char *contents;
static size_t size;
static const char *folder;
static void *libraries[MOST], *blocks[MOST];

static void read_library(void)
{
    char path[PATH_MAX];
    struct stat status;
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 64);
    MUST(length > 0);
    path[length] = 0;
    dirname(path);
    strcat(path, "/libheapsonde_test_plugin0.so");
    FILE *file = fopen(path, "rb");
    MUST(file && fstat(fileno(file), &status) == 0);
    size = (size_t)status.st_size;
    contents = malloc(size);
    MUST(contents && fread(contents, 1, size, file) == size);
    fclose(file);
}

// Each is a file of its own, with a name of its own.
static void load(int number)
{
    static int copies;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/copy%d.so", folder, ++copies);
    int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0700);
    MUST(fd >= 0 && write(fd, contents, size) == (ssize_t)size);
    MUST(close(fd) == 0);
    libraries[number] = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!libraries[number])
        say("%s\n", dlerror());
    MUST(libraries[number] && unlink(path) == 0);
}

static void call(int number)
{
    void *(*plugin_allocate)(int, size_t);
    *(void **)&plugin_allocate = dlsym(libraries[number], "plugin_allocate");
    MUST(plugin_allocate);
    free(plugin_allocate(3, 100));
    free(blocks[number]);
    blocks[number] = plugin_allocate(2, 50);
}

int main(int argc, char **argv)
{
    MUST(argc == 3);
    int count = atoi(argv[1]);
    MUST(count <= MOST);
    folder = argv[2];
    read_library();
    for (int i = 0; i < count; i++)
        load(i);
    for (int i = 0; i < count; i++)
        call(i);
    for (int i = 0; i < count; i += 2)
        MUST(dlclose(libraries[i]) == 0);
    for (int i = 0; i < count; i += 2)
        load(i);
    for (int i = 0; i < count; i++)
        call(i);
    for (int i = 0; i < count; i++)
        free(blocks[i]);
    free(contents);
    say("%d libraries\n", count);
    return 0;
}
