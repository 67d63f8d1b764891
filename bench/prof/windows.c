// SPDX-License-Identifier: MIT OR Apache-2.0
//
// malloc and free of several libraries in one process, by turns in windows of 512 pairs; prints the nanoseconds of a
// pair in the quietest window of each. A machine that others use, too, has such windows, where whole runs have not.
// Usage: windows LIBRARY...; the libraries are loaded beside libc, whose own pair comes first.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { LIBRARIES = 16, WINDOWS = 4000, PAIRS = 512 };

struct library {
    const char *name;
    void *(*allocate)(size_t);
    void (*release)(void *);
    double least;
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static __attribute__((noinline)) double window(const struct library *library)
{
    double began = now();
    for (unsigned i = 0; i < PAIRS; i++) {
        void *volatile block = library->allocate(16 + (i & 63) * 8);
        library->release(block);
    }
    return (now() - began) / PAIRS;
}

static int load(struct library *library, const char *name)
{
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    *library = (struct library){.name = name, .least = 1e9};
    *(void **)&library->allocate = dlsym(handle, "malloc");
    *(void **)&library->release = dlsym(handle, "free");
    return 0;
}

int main(int count, char **words)
{
    static struct library libraries[LIBRARIES];
    if (count > LIBRARIES)
        return 2;
    for (int i = 0; i < count; i++)
        if (load(&libraries[i], i ? words[i] : "libc.so.6"))
            return 1;
    for (unsigned turn = 0; turn < WINDOWS; turn++)
        for (int i = 0; i < count; i++) {
            window(&libraries[i]); // so that its code and data are near
            double took = window(&libraries[i]);
            libraries[i].least = took < libraries[i].least ? took : libraries[i].least;
        }
    for (int i = 0; i < count; i++)
        printf("%6.2f ns %+6.2f  %s\n", libraries[i].least, libraries[i].least - libraries[0].least, libraries[i].name);
    return 0;
}
