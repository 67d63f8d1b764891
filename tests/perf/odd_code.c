// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Programs whose samples land where no file says anything, or does any more; forks that come and go; and 1 GiB of which
// the kernel says what is in memory. odd_code CASE; prints what is true.
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOT_INLINE __attribute__((noinline, noclone))

static void *volatile kept;
static volatile double sink;

static uint64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int ask_the_vdso(uint64_t until)
{
    struct timespec now;
    while (cpu_ns() < until)
        for (int i = 0; i < 10000; i++)
            clock_gettime(CLOCK_MONOTONIC, &now);
    return 0;
}

// Needs nothing of where it is but itself.
NOT_INLINE static unsigned long spin(unsigned long rounds)
{
    for (unsigned long i = 0; i < rounds; i++)
        __asm__ volatile("" : "+r"(i));
    return rounds;
}

static int run_generated_code(uint64_t until)
{
    enum { SIZE = 4096, CODE = 128 };
    char *code = mmap(NULL, SIZE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED)
        return 1;
    uintptr_t thumb = (uintptr_t)spin % 2;
    memcpy(code, (const char *)(uintptr_t)spin - thumb, CODE);
    __builtin___clear_cache(code, code + CODE);
    unsigned long (*copy)(unsigned long) = (unsigned long (*)(unsigned long))(uintptr_t)(code + thumb);
    while (cpu_ns() < until)
        copy(1000000);
    return munmap(code, SIZE);
}

static int load_and_unload(uint64_t until)
{
    while (cpu_ns() < until) {
        void *library = dlopen("libm.so.6", RTLD_NOW);
        double (*function)(double) = library ? (double (*)(double))(uintptr_t)dlsym(library, "lgamma") : NULL;
        for (int i = 0; function && i < 1000; i++)
            sink += function(i);
        if (library)
            dlclose(library);
    }
    return 0;
}

static int count_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static int fork_often(int children)
{
    int before = count_descriptors(), status, failed = 0;
    for (int i = 0; i < children; i++) {
        pid_t child = fork();
        if (!child) {
            kept = malloc(100);
            spin(100000);
            _exit(0);
        }
        failed += child < 0 || waitpid(child, &status, 0) != child || status;
    }
    printf("descriptors %d failed %d\n", count_descriptors() - before, failed);
    return 0;
}

// Resident bytes of the process as /proc/self/smaps has them.
static long long resident(void)
{
    char line[256];
    long long sum = 0, kilobytes;
    FILE *smaps = fopen("/proc/self/smaps", "re");
    while (smaps && fgets(line, sizeof line, smaps))
        if (sscanf(line, "Rss: %lld kB", &kilobytes) == 1)
            sum += kilobytes << 10;
    if (smaps)
        fclose(smaps);
    return sum;
}

static void touch(char *block, size_t from, size_t to, size_t step)
{
    for (size_t at = from; at < to; at += step)
        block[at] = 1;
}

NOT_INLINE static char *allocate_half(size_t size)
{
    char *block = malloc(size);
    touch(block, 0, size / 2, 4096);
    return block;
}

NOT_INLINE static char *allocate_every_tenth(size_t size)
{
    char *block = malloc(size);
    touch(block, 0, size, 40960);
    return block;
}

NOT_INLINE static char *allocate_untouched(size_t size)
{
    return malloc(size);
}

NOT_INLINE static char *allocate_whole(size_t size)
{
    char *block = malloc(size);
    touch(block, 0, size, 4096);
    return block;
}

static int allocate_gigabyte(void)
{
    enum { SIZE = 256 << 20, BLOCKS = 4 };
    static char *(*const functions[BLOCKS])(size_t) = {allocate_half, allocate_every_tenth, allocate_untouched,
                                                       allocate_whole};
    long long found[BLOCKS];
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    resident(); // its own memory
    for (int i = 0; i < BLOCKS; i++) {
        long long before = resident();
        kept = functions[i](SIZE);
        found[i] = resident() - before;
    }
    printf("allocate_half %lld allocate_every_tenth %lld allocate_untouched %lld allocate_whole %lld\n", found[0],
           found[1], found[2], found[3]);
    return 0;
}

int main(int count, char **arguments)
{
    const char *what = count > 1 ? arguments[1] : "";
    uint64_t until = cpu_ns() + 700000000;
    kept = malloc(10);
    if (!strcmp(what, "vdso"))
        return ask_the_vdso(until);
    if (!strcmp(what, "generated"))
        return run_generated_code(until);
    if (!strcmp(what, "unloaded"))
        return load_and_unload(until);
    if (!strcmp(what, "forks"))
        return fork_often(count > 2 ? atoi(arguments[2]) : 500);
    return strcmp(what, "gigabyte") ? 2 : allocate_gigabyte();
}
