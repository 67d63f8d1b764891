// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The whole C family, and what it does at its edges: results and errno are printed, so that a recorded run can be
// compared with a bare one.
#include "program.h"

#include <malloc.h>
#include <wchar.h>

static void *volatile sink;

static void show(const char *what, const void *result)
{
    int error = errno;
    say("%-34s %s errno %d\n", what, result ? "block" : "NULL ", error);
}

#define SHOW(call)                                                                                                     \
    do {                                                                                                               \
        errno = 77;                                                                                                    \
        sink = keep(call);                                                                                             \
        show(#call, sink);                                                                                             \
        errno = 78;                                                                                                    \
        free(sink);                                                                                                    \
        if (errno != 78)                                                                                               \
            say("free changed errno to %d\n", errno);                                                                  \
    } while (0)

static void edges(void)
{
    volatile size_t most = SIZE_MAX,
                    huge = sizeof(size_t) == 8 ? (size_t)PTRDIFF_MAX - 4096 : (size_t)PTRDIFF_MAX + 4096, zero = 0,
                    half = (size_t)1 << (sizeof(size_t) * 4 + 1), three = 3;
    SHOW(malloc(zero));
    SHOW(malloc(most));
    SHOW(malloc(huge));
    SHOW(calloc(zero, 5));
    SHOW(calloc(5, zero));
    SHOW(calloc(most, 2));
    SHOW(calloc(half, half));
    SHOW(calloc(1, huge));
    SHOW(realloc(NULL, zero));
    SHOW(realloc(NULL, 10));
    SHOW(realloc(NULL, most));
    SHOW(reallocarray(NULL, 5, 6));
    SHOW(reallocarray(NULL, half, half));
    SHOW(memalign(64, 100));
    SHOW(memalign(zero, 100));
    SHOW(memalign(three, 100));
    SHOW(memalign(64, most - 100));
    SHOW(aligned_alloc(64, 100));
    SHOW(aligned_alloc(4096, 8192));
    SHOW(aligned_alloc(64, huge));
    SHOW(valloc(10));
    SHOW(valloc(most - 4096));
#ifdef __GLIBC__
    SHOW(pvalloc(10));
    SHOW(pvalloc(most - 100));
#endif

    void *block = (void *)1234;
    errno = 77;
    int status = posix_memalign(&block, 3, 10);
    say("posix_memalign(3): %d, pointer kept %d, errno %d\n", status, block == (void *)1234, errno);
    status = posix_memalign(&block, 0, 10);
    say("posix_memalign(0): %d, pointer kept %d, errno %d\n", status, block == (void *)1234, errno);
    status = posix_memalign(&block, 2, 10);
    say("posix_memalign(2): %d, pointer kept %d, errno %d\n", status, block == (void *)1234, errno);
    status = posix_memalign(&block, 64, huge);
    say("posix_memalign(huge): %d, pointer kept %d, errno %d\n", status, block == (void *)1234, errno);
    status = posix_memalign(&block, 4096, 10);
    say("posix_memalign(4096): %d, aligned %d, errno %d\n", status, ((uintptr_t)block & 4095) == 0, errno);
    free(block);
    status = posix_memalign(&block, 64, 0);
    say("posix_memalign(64, 0): %d, errno %d\n", status, errno);
    free(block);

    char *text = allocate(20);
    strcpy(text, "still here");
    errno = 77;
    void *failed = keep(realloc(text, huge));
    say("realloc(block, huge): %s, errno %d, block: %s\n", failed ? "block" : "NULL", errno, text);
    errno = 77;
    failed = keep(reallocarray(text, half, half));
    say("reallocarray(block, huge): %s, errno %d, block: %s\n", failed ? "block" : "NULL", errno, text);
    errno = 77;
    failed = keep(realloc(text, zero));
    say("realloc(block, 0): %s, errno %d\n", failed ? "block" : "NULL", errno);
    free(failed);
    errno = 79;
    free(NULL);
    say("free(NULL): errno %d\n", errno);
    errno = 79;
    void *large = allocate(8 << 20);
    errno = 79;
    free(large);
    say("free of a large block: errno %d\n", errno);
    say("malloc_usable_size(NULL): %zu\n", malloc_usable_size(NULL));
}

static void sizes(void)
{
    // Layout must not change: usable sizes are the allocator's own.
    for (size_t size = 1; size <= 4096; size = size * 3 / 2 + 1) {
        void *block = allocate(size);
        say("usable(%zu) %zu\n", size, malloc_usable_size(block));
        free(block);
    }
    for (size_t alignment = 16; alignment <= 1 << 20; alignment *= 4)
        for (size_t size = 1; size <= 1 << 16; size *= 16) {
            char *block = keep(memalign(alignment, size));
            MUST(block && ((uintptr_t)block & (alignment - 1)) == 0);
            MUST(malloc_usable_size(block) >= size);
            memset(block, 0x5a, malloc_usable_size(block));
            block = keep(realloc(block, size * 2));
            MUST(block);
            for (size_t i = 0; i < size; i++)
                MUST(block[i] == 0x5a);
            free(block);
        }
}

static void through_libc(void)
{
    free(keep(strdup("strdup")));
    free(keep(strndup("strndup", 4)));
    free(keep(wcsdup(L"wcsdup")));
    char *text = NULL, *line = NULL;
    MUST(asprintf(&text, "%d %s", 42, "asprintf") > 0);
    free(text);
    size_t length = 0;
    FILE *file = fmemopen("first line\nsecond\n", 18, "r");
    MUST(file && getline(&line, &length, file) == 11);
    free(line);
    fclose(file);
    char *buffer = NULL;
    FILE *stream = open_memstream(&buffer, &length);
    MUST(stream);
    for (int i = 0; i < 1000; i++)
        fprintf(stream, "%d ", i);
    fclose(stream);
    MUST(length == 3890);
    free(buffer);
    char *path = realpath("/proc/../proc", NULL);
    MUST(path && !strcmp(path, "/proc"));
    free(path);
    setenv("HEAPSONDE_TEST_VARIABLE", "value", 1);
    unsetenv("HEAPSONDE_TEST_VARIABLE");
    qsort(&length, 1, sizeof length, (int (*)(const void *, const void *))strcmp);
}

static void chains(void)
{
    // Blocks that grow step by step, in place and moving.
    for (int i = 0; i < 100; i++) {
        char *block = NULL, *between = NULL;
        for (size_t size = 1; size < 100000; size = size * 2 + 1) {
            block = keep(realloc(block, size));
            MUST(block);
            block[size - 1] = 1;
            if (i % 2) {
                free(between);
                between = allocate(size);
            }
        }
        for (size_t size = 90000; size > 1; size /= 3)
            MUST((block = keep(realloc(block, size))));
        free(between);
        free(block);
    }
}

int main(void)
{
    edges();
    sizes();
    through_libc();
    chains();
#ifdef __GLIBC__
    struct mallinfo2 info = mallinfo2();
    say("mallinfo2 works: %d\n", info.arena > 0);
    say("mallopt: %d, malloc_trim: %d\n", mallopt(M_MMAP_THRESHOLD, 1 << 20), malloc_trim(0) >= 0);
#endif
    free(allocate(2 << 20));
    keep(allocate(17));
    keep(calloc(3, 7));
    return 0;
}
