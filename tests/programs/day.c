// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A day of a service: every ten seconds its threads wake up, allocate in stacks that none had before, and sleep again.
// The stacks are random recursions through compiled functions and through functions that the threads make anew
// elsewhere every minute. A block is forgotten every minute, too. Usage: day SECONDS [MILLISECONDS BETWEEN TWO BURSTS]
//
// Leaves in its folder what depends on the run: `leaks`, CLOCK_MONOTONIC in ns before and after each forgotten block
// was allocated; `memory`, the memory it has written to and its resident peak in KiB each hour; `span`, the clock at
// the beginning and end.
#include "made_code.h"
#include "program.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>

enum {
    THREADS = 4,
    BLOCKS = 25, // of a thread in a burst
    DEEPEST = 12,
    MADE = 8,
    MADE_DISTANCE = 64, // of two made functions
    KEPT = 256,
    BURSTS_OF_A_MINUTE = 6,
    BURSTS_OF_AN_HOUR = 360,
    LEAK_SIZE = 100
};

struct walker {
    uint64_t seed, path, shape; // shape: 1, then a bit for each call: 1, it goes through a made function
    int depth;
    long blocks;
    uint64_t bytes;
    char *made;
    size_t made_size;
    void *kept[KEPT];
};

static struct walker walkers[THREADS];
static __thread struct walker *walker;
static int64_t start_ns;
static int64_t interval_ns = 10000000000;
static long bursts;

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void sleep_until(int64_t ns)
{
    struct timespec until = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        continue;
}

__attribute__((format(printf, 2, 3))) static void note(const char *name, const char *format, ...)
{
    char line[128];
    va_list list;
    va_start(list, format);
    int length = vsnprintf(line, sizeof line, format, list);
    va_end(list);
    int file = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    MUST(file >= 0 && write(file, line, (size_t)length) == length && close(file) == 0);
}

// The machine code of this thread moves to pages that it has not had.
static void make_functions(struct walker *w)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (w->made)
        MUST(munmap(w->made, page) == 0);
    const uintptr_t hint = 0x40000000 + (uintptr_t)(random_next(&w->seed) % 0x4000) * 0x10000;
    w->made = mmap((void *)hint, page, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(w->made != MAP_FAILED);
    for (size_t i = 0; i < MADE; i++)
        memcpy(w->made + i * MADE_DISTANCE, made_code, sizeof made_code);
    __builtin___clear_cache(w->made, w->made + MADE * MADE_DISTANCE);
}

// A block whose size says which calls lead to it; two compiled call sites, and those of the made functions.
static NOINLINE void descend(void)
{
    struct walker *w = walker;
    char *block = allocate(w->shape);
    w->blocks++;
    w->bytes += w->shape;
    if (w->depth-- > 0) {
        const unsigned choice = w->path & 15;
        const uint64_t shape = w->shape;
        w->path >>= 4;
        w->shape = shape * 2 + (choice >= MADE);
        if (choice >= MADE)
            made_at(w->made + (choice - MADE) * MADE_DISTANCE)(descend);
        else if (choice & 1)
            descend();
        else
            descend();
        w->shape = shape;
    }
    MUST(block[w->shape - 1] == 1);
    free(block);
    __asm__ volatile("" ::: "memory");
}

static NOINLINE void burst(struct walker *w)
{
    for (long left = BLOCKS, before = w->blocks; left > 0; left = BLOCKS - (w->blocks - before)) {
        const int depth = (int)(random_next(&w->seed) % DEEPEST);
        w->path = random_next(&w->seed);
        w->shape = 1;
        w->depth = depth < left ? depth : (int)left - 1;
        descend();
    }
    __asm__ volatile("" ::: "memory");
}

static NOINLINE void replace_kept(struct walker *w)
{
    void **cell = &w->kept[random_next(&w->seed) % KEPT];
    const size_t size = 1 + random_next(&w->seed) % 500;
    *cell = keep(realloc(*cell, size));
    MUST(*cell);
}

static NOINLINE void forget(void)
{
    const int64_t before = now_ns();
    keep(allocate(LEAK_SIZE));
    const int64_t after = now_ns();
    note("leaks", "%lld %lld\n", (long long)before, (long long)after);
}

static long kib_of(const char *path, const char *name)
{
    char text[4096] = "";
    int file = open(path, O_RDONLY | O_CLOEXEC);
    MUST(file >= 0 && read(file, text, sizeof text - 1) > 0 && close(file) == 0);
    const char *at = strstr(text, name);
    MUST(at);
    return strtol(at + strlen(name), NULL, 10);
}

// Clean pages are those of libraries, of which the kernel maps more or fewer as it likes. The kernel's own sum of
// resident pages is exact only to 64 pages of each thread, those of its mappings are exact.
static void note_memory(long burst_number)
{
    static const char mappings[] = "/proc/self/smaps_rollup";
    note("memory", "%ld %ld %ld\n", burst_number,
         kib_of(mappings, "\nPrivate_Dirty:") + kib_of(mappings, "\nShared_Dirty:"),
         kib_of("/proc/self/status", "\nVmHWM:"));
}

static void *live(void *argument)
{
    walker = argument;
    for (long i = 0; i < bursts; i++) {
        sleep_until(start_ns + i * interval_ns);
        if (i % BURSTS_OF_A_MINUTE == 0)
            make_functions(walker);
        burst(walker);
        replace_kept(walker);
        if (walker != walkers)
            continue;
        if (i % BURSTS_OF_A_MINUTE == 0)
            forget();
        if ((i + 1) % BURSTS_OF_AN_HOUR == 0)
            note_memory(i + 1);
    }
    for (int i = 0; i < KEPT; i++)
        free(walker->kept[i]);
    return NULL;
}

int main(int count, char **arguments)
{
    const long seconds = count > 1 ? atol(arguments[1]) : 60;
    pthread_t threads[THREADS];
    bursts = seconds / 10;
    if (count > 2)
        interval_ns = atoll(arguments[2]) * 1000000;
    start_ns = now_ns();
    for (size_t t = 0; t < THREADS; t++)
        walkers[t].seed = t * 1000;
    for (size_t t = 1; t < THREADS; t++)
        MUST(pthread_create(&threads[t], NULL, live, &walkers[t]) == 0);
    live(walkers);
    for (size_t t = 1; t < THREADS; t++)
        MUST(pthread_join(threads[t], NULL) == 0);
    sleep_until(start_ns + bursts * interval_ns);
    note("span", "%lld %lld\n", (long long)start_ns, (long long)now_ns());
    for (size_t t = 0; t < THREADS; t++)
        say("thread %zu: %ld blocks of %llu bytes\n", t, walkers[t].blocks, (unsigned long long)walkers[t].bytes);
    return 0;
}
