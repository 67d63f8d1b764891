// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Programs whose samples land where no file says anything, or does any more; forks that come and go; and 1 GiB of which
// the kernel says what is in memory. odd_code CASE; prints what is true.
#include "tests/perf/put_together.h"
#include "tests/perf/resident.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOT_INLINE __attribute__((noinline, noclone))

__attribute__((visibility("default"))) void stay_in_destructor(void);

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

enum { CODE_PAGE = 4096, CODE_SIZE = 128, CODE_ROUNDS = 8 };
typedef unsigned long (*spinning)(unsigned long);

static spinning copy_code(char *to)
{
    uintptr_t thumb = (uintptr_t)spin % 2;
    memcpy(to, (const char *)(uintptr_t)spin - thumb, CODE_SIZE);
    __builtin___clear_cache(to, to + CODE_SIZE);
    return (spinning)(uintptr_t)(to + thumb);
}

static void spin_for(spinning copy, uint64_t ns)
{
    for (uint64_t end = cpu_ns() + ns; cpu_ns() < end;)
        copy(100000);
}

// Code is gone without a word while samples of it wait in the rings: its page was looked at before, these places in it
// were not.
static int run_generated_code(void)
{
    for (int round = 0; round < CODE_ROUNDS; round++) {
        char *code = mmap(NULL, CODE_PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (code == MAP_FAILED)
            return 1;
        spin_for(copy_code(code), 120000000);
        spin_for(copy_code(code + CODE_PAGE / 2), 15000000);
        if (syscall(SYS_mprotect, code, CODE_PAGE, PROT_NONE))
            return 1;
    }
    return 0;
}

static void load_use_and_unload(void)
{
    void *library = dlopen("libm.so.6", RTLD_NOW);
    double (*function)(double) = library ? (double (*)(double))(uintptr_t)dlsym(library, "lgamma") : NULL;
    for (int i = 0; function && i < 1000; i++)
        sink += function(i);
    if (library)
        dlclose(library);
}

static int load_and_unload(uint64_t until)
{
    while (cpu_ns() < until)
        load_use_and_unload();
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

// ---- executions: the same process, again and again -----------------------------------------------------------------

static int execute_again(const char *self, int left)
{
    char number[16];
    spin_for(spin, 3000000);
    free(kept);
    if (count_descriptors() != 3)
        return 1;
    if (!left) {
        printf("descriptors 0\n");
        return 0;
    }
    snprintf(number, sizeof number, "%d", left - 1);
    execl(self, self, "executions", number, (char *)NULL);
    return 99;
}

// ---- loading: code comes and goes in a second thread ---------------------------------------------------------------

enum { LOADING_NS = 700000000 };
static uint64_t loading_ns;
static unsigned loading_rounds;

NOT_INLINE static void load_again(uint64_t until)
{
    for (; cpu_ns() < until; loading_rounds++)
        load_use_and_unload();
}

static void *loading_thread(void *unused)
{
    uint64_t before = cpu_ns();
    load_again(before + LOADING_NS);
    loading_ns = cpu_ns() - before;
    return unused;
}

NOT_INLINE static uint64_t work_meanwhile(void)
{
    uint64_t before = cpu_ns();
    spin_for(spin, LOADING_NS);
    return cpu_ns() - before;
}

static int load_in_thread(void)
{
    pthread_t thread;
    int before = count_descriptors();
    if (pthread_create(&thread, NULL, loading_thread, NULL))
        return 1;
    uint64_t worked = work_meanwhile();
    pthread_join(thread, NULL);
    printf("load_again %llu work_meanwhile %llu rounds %u descriptors %d\n", (unsigned long long)loading_ns,
           (unsigned long long)worked, loading_rounds, count_descriptors() - before);
    return 0;
}

// ---- closing: the program ends while another thread is in a library's destructor ----------------------------------

static sem_t in_destructor;
static bool returns, burns_at_end;

// Behind the recorder's own end. glibc ends libraries in the order in which they were loaded, others the last one
// first.
NOT_INLINE static void burn_behind_end(void)
{
    spin_for(spin, 200000000);
    sink++;
}

// By the library's destructor.
void stay_in_destructor(void)
{
    if (burns_at_end)
        burn_behind_end();
    if (returns)
        return;
    sem_post(&in_destructor);
    for (;;)
        pause();
}

// A libc that unloads nothing calls no destructor.
static volatile bool came_back;

static void *closing_thread(void *library)
{
    dlclose(library);
    came_back = true;
    stay_in_destructor();
    return NULL;
}

// Meanwhile no ring is read. The pages are touched on one processor, so that one ring has all of them.
static void touch_pages(size_t count)
{
    cpu_set_t here;
    char *pages = mmap(NULL, count * CODE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CPU_ZERO(&here);
    CPU_SET((size_t)sched_getcpu(), &here);
    sched_setaffinity(0, sizeof here, &here);
    madvise(pages, count * CODE_PAGE, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < count; i++)
        pages[i * CODE_PAGE] = 1;
}

static int end_while_closing(const char *path, size_t pages)
{
    pthread_t thread;
    void *library = dlopen(path, RTLD_NOW);
    if (!library || sem_init(&in_destructor, 0, 0) || pthread_create(&thread, NULL, closing_thread, library))
        return 1;
    while (sem_wait(&in_destructor))
        continue;
    if (pages)
        touch_pages(pages);
    else
        spin_for(spin, 300000000);
    printf("unloads %d cpu %llu\n", !came_back, (unsigned long long)cpu_ns());
    fflush(stdout);
    _exit(0);
}

static int burn_at_end(const char *path)
{
    returns = true;
#ifdef __GLIBC__
    burns_at_end = true;
#endif
    if (!dlopen(path, RTLD_NOW))
        return 1;
    spin_for(spin, 100000000);
    printf("burns %d\n", burns_at_end);
    return 0;
}

static bool in_huge_pages;

static char *allocate(size_t size)
{
    char *block = malloc(size);
    uintptr_t first = ((uintptr_t)block + 4095) & ~(uintptr_t)4095;
    if (in_huge_pages)
        madvise((void *)first, size - 4096, MADV_HUGEPAGE);
    return block;
}

static void touch(char *block, size_t from, size_t to, size_t step)
{
    for (size_t at = from; at < to; at += step)
        block[at] = 1;
}

NOT_INLINE static char *allocate_half(size_t size)
{
    char *block = allocate(size);
    touch(block, 0, size / 2, 4096);
    return block;
}

NOT_INLINE static char *allocate_every_tenth(size_t size)
{
    char *block = allocate(size);
    touch(block, 0, size, 40960);
    return block;
}

NOT_INLINE static char *allocate_untouched(size_t size)
{
    return allocate(size);
}

NOT_INLINE static char *allocate_whole(size_t size)
{
    char *block = allocate(size);
    touch(block, 0, size, 4096);
    return block;
}

static int allocate_gigabyte(void)
{
    enum { SIZE = 256 << 20, BLOCKS = 4 };
    static char *(*const functions[BLOCKS])(size_t) = {allocate_half, allocate_every_tenth, allocate_untouched,
                                                       allocate_whole};
    long long found[BLOCKS];
    unsigned long long before = pages_put_together();
    // From the start: a block of which one page is there the kernel may put together at any time, without a fault.
    if (!in_huge_pages)
        prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    for (int i = 0; i < BLOCKS; i++) {
        char *block = functions[i](SIZE);
        kept = block;
        found[i] = resident(block, SIZE);
    }
    printf(
        "allocate_half %lld allocate_every_tenth %lld allocate_untouched %lld allocate_whole %lld put_together %llu\n",
        found[0], found[1], found[2], found[3], pages_put_together() - before);
    return 0;
}

// ---- returning: pages that the program gives back, takes again, moves
// ------------------------------------------------

enum { RETURNED_SIZE = 64 << 20 };

static char *map_pages(size_t size)
{
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static char *touch_each_page(char *from, size_t size)
{
    for (size_t at = 0; at < size; at += 4096)
        from[at] = 1;
    return from;
}

static char *page_in(char *block, size_t at)
{
    return (char *)(((uintptr_t)block + at + 4095) & ~(uintptr_t)4095);
}

NOT_INLINE static long long give_back_half(void)
{
    char *block = touch_each_page(malloc(RETURNED_SIZE), RETURNED_SIZE);
    kept = block;
    madvise(page_in(block, RETURNED_SIZE / 2), RETURNED_SIZE / 4, MADV_DONTNEED);
    madvise(page_in(block, RETURNED_SIZE / 4 * 3), RETURNED_SIZE / 4 - 4096, MADV_DONTNEED);
    return resident(block, RETURNED_SIZE);
}

NOT_INLINE static long long touch_again(void)
{
    char *block = touch_each_page(malloc(RETURNED_SIZE), RETURNED_SIZE);
    kept = block;
    for (int i = 0; i < 3; i++) {
        madvise(page_in(block, 0), RETURNED_SIZE - 4096, MADV_DONTNEED);
        touch_each_page(page_in(block, 0), RETURNED_SIZE / 4 * 3);
    }
    return resident(block, RETURNED_SIZE);
}

// Until it lacks memory the kernel leaves such pages where they are. A busy machine may lack some at any time.
NOT_INLINE static long long free_lazily(void)
{
    for (int tries = 0; tries < 100; tries++) {
        char *block = touch_each_page(malloc(RETURNED_SIZE), RETURNED_SIZE);
        kept = block;
        madvise(page_in(block, RETURNED_SIZE / 2), RETURNED_SIZE / 2 - 4096, MADV_FREE);
        long long left = resident(block, RETURNED_SIZE);
        if (left >= RETURNED_SIZE)
            return left;
        free(block);
    }
    return -1;
}

NOT_INLINE static long long grow_block(void)
{
    char *block = touch_each_page(malloc(RETURNED_SIZE / 2), RETURNED_SIZE / 2);
    block = realloc(block, RETURNED_SIZE);
    kept = block;
    return resident(block, RETURNED_SIZE);
}

NOT_INLINE static long long unmap_half(void)
{
    char *mapping = touch_each_page(map_pages(RETURNED_SIZE), RETURNED_SIZE);
    munmap(mapping + RETURNED_SIZE / 2, RETURNED_SIZE / 2);
    return resident(mapping, RETURNED_SIZE / 2);
}

NOT_INLINE static long long map_over(void)
{
    char *mapping = touch_each_page(map_pages(RETURNED_SIZE), RETURNED_SIZE);
    mmap(mapping, RETURNED_SIZE / 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    return resident(mapping, RETURNED_SIZE);
}

// What lies behind the mapping forces it to move.
NOT_INLINE static long long move_mapping(void)
{
    char *mapping = touch_each_page(map_pages(RETURNED_SIZE), RETURNED_SIZE / 2);
    munmap(mapping + RETURNED_SIZE / 2, RETURNED_SIZE / 4);
    char *moved = mremap(mapping, RETURNED_SIZE / 2, RETURNED_SIZE, MREMAP_MAYMOVE);
    touch_each_page(moved + RETURNED_SIZE / 4 * 3, RETURNED_SIZE / 4);
    return resident(moved, RETURNED_SIZE);
}

static int return_pages(void)
{
    static const struct {
        const char *name;
        long long (*function)(void);
    } ways[] = {{"give_back_half", give_back_half}, {"touch_again", touch_again}, {"free_lazily", free_lazily},
                {"grow_block", grow_block},         {"unmap_half", unmap_half},   {"map_over", map_over},
                {"move_mapping", move_mapping}};
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        printf("%s %lld ", ways[i].name, ways[i].function());
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
        return run_generated_code();
    if (!strcmp(what, "unloaded"))
        return load_and_unload(until);
    if (!strcmp(what, "executions"))
        return execute_again(arguments[0], count > 2 ? atoi(arguments[2]) : 500);
    if (!strcmp(what, "loading"))
        return load_in_thread();
    if (!strcmp(what, "closing") && count > 2)
        return end_while_closing(arguments[2], count > 3 ? strtoul(arguments[3], NULL, 10) : 0);
    if (!strcmp(what, "ended") && count > 2)
        return burn_at_end(arguments[2]);
    if (!strcmp(what, "forks"))
        return fork_often(count > 2 ? atoi(arguments[2]) : 500);
    if (!strcmp(what, "returning"))
        return return_pages();
    in_huge_pages = !strcmp(what, "huge-gigabyte");
    return in_huge_pages || !strcmp(what, "gigabyte") ? allocate_gigabyte() : 2;
}
