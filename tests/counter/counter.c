// SPDX-License-Identifier: MIT OR Apache-2.0
//
// An independent count of what a program allocates, to hold the recorder against. Preloaded behind the recorder:
//   LD_PRELOAD="libheapsonde-trace.so libcounter.so" COUNTER_OUTPUT=/tmp/folder/prefix program
// writes /tmp/folder/prefix.PID.N for the N-th image of each process. It shares nothing with the recorder and is simple
// rather than fast: one lock, one table of live blocks.
#define _GNU_SOURCE
#include "tests/counter/counter.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

#ifndef SYS_mmap // the offset of 0 is the same in pages
#define SYS_mmap SYS_mmap2
#endif
#ifdef __mips__
#define KERNEL_SIGSET_SIZE 16
#else
#define KERNEL_SIGSET_SIZE 8
#endif

static void *(*next_malloc)(size_t);
static void *(*next_calloc)(size_t, size_t);
static void *(*next_realloc)(void *, size_t);
static void *(*next_memalign)(size_t, size_t);
static int (*next_posix_memalign)(void **, size_t, size_t);
static void *(*next_aligned_alloc)(size_t, size_t);
static void *(*next_valloc)(size_t);
static void *(*next_pvalloc)(size_t);
static void (*next_free)(void *);

static struct counter before_file; // used until the file is mapped, and when it cannot be
static struct counter *counter = &before_file;

// ---- table of live blocks: open addressing, grows by mapping a new one ---------------------------------------------

struct block {
    uintptr_t address; // 0: empty, 1: deleted
    size_t size;
};

static struct block *table;
static size_t table_slots, table_used;

static size_t block_hash(uintptr_t address)
{
    return (size_t)((address >> 4) * 0x9e3779b97f4a7c15ull >> 20);
}

static void block_put(uintptr_t address, size_t size)
{
    size_t i = block_hash(address) & (table_slots - 1);
    while (table[i].address > 1)
        i = (i + 1) & (table_slots - 1);
    if (table[i].address == 0)
        table_used++;
    table[i].address = address;
    table[i].size = size;
}

static bool table_grow(void)
{
    struct block *old = table;
    size_t old_slots = table_slots, slots = old_slots ? old_slots * 2 : 1 << 12;
    void *mapped = (void *)syscall(SYS_mmap, NULL, slots * sizeof *table, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
        return old && table_used < old_slots - 1;
    table = mapped;
    table_slots = slots;
    table_used = 0;
    for (size_t i = 0; i < old_slots; i++)
        if (old[i].address > 1)
            block_put(old[i].address, old[i].size);
    if (old)
        syscall(SYS_munmap, old, old_slots * sizeof *old);
    return true;
}

static struct block *block_find(uintptr_t address)
{
    if (!table)
        return NULL;
    for (size_t i = block_hash(address) & (table_slots - 1); table[i].address; i = (i + 1) & (table_slots - 1))
        if (table[i].address == address)
            return &table[i];
    return NULL;
}

// ---- the lock ------------------------------------------------------------------------------------------------------

// Signals stay out while it is held, so that a handler that allocates, or a thread that is cancelled, cannot stop here.
static atomic_int locked;

static void lock(sigset_t *before)
{
    sigset_t all;
    memset(&all, 0xff, sizeof all);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, before, KERNEL_SIGSET_SIZE);
    while (atomic_exchange_explicit(&locked, 1, memory_order_acquire))
        syscall(SYS_sched_yield);
}

static void unlock(const sigset_t *before)
{
    atomic_store_explicit(&locked, 0, memory_order_release);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, before, NULL, KERNEL_SIGSET_SIZE);
}

// ---- the file ------------------------------------------------------------------------------------------------------

static char output_prefix[4096];
static bool output_known;

// getenv() is empty this early, in the dynamic linker's first allocations.
static void output_find(void)
{
    static char environment[1 << 20];
    int file = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/environ", O_RDONLY | O_CLOEXEC, 0);
    long length = 0, got;
    output_known = true;
    if (file < 0)
        return;
    while (length < (long)sizeof environment - 1 &&
           (got = syscall(SYS_read, file, environment + length, sizeof environment - 1 - (size_t)length)) > 0)
        length += got;
    syscall(SYS_close, file);
    for (char *at = environment; at < environment + length; at += strlen(at) + 1)
        if (!strncmp(at, "COUNTER_OUTPUT=", 15) && strlen(at + 15) < sizeof output_prefix)
            strcpy(output_prefix, at + 15);
}

static char *append_number(char *end, unsigned long number)
{
    char digits[24];
    int n = 0;
    do
        digits[n++] = (char)('0' + number % 10);
    while (number /= 10);
    while (n)
        *end++ = digits[--n];
    *end = 0;
    return end;
}

static void file_open(void)
{
    long pid = syscall(SYS_getpid);
    if (!output_known)
        output_find();
    if (output_prefix[0]) {
        char path[sizeof output_prefix + 64], *end;
        strcpy(path, output_prefix);
        end = path + strlen(path);
        *end++ = '.';
        end = append_number(end, (unsigned long)pid);
        *end++ = '.';
        for (unsigned image = 0; image < 10000; image++) {
            append_number(end, image);
            int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
            if (file == -1 && errno == EEXIST)
                continue;
            if (file == -1)
                break;
            if (syscall(SYS_ftruncate, file, (long)sizeof *counter) == 0) {
                void *mapped =
                    (void *)syscall(SYS_mmap, NULL, sizeof *counter, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
                if (mapped != MAP_FAILED) {
                    *(struct counter *)mapped = *counter;
                    counter = mapped;
                }
            }
            syscall(SYS_close, file);
            break;
        }
    }
    counter->magic = COUNTER_MAGIC;
    counter->pid = (uint64_t)pid;
    int name = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/comm", O_RDONLY | O_CLOEXEC, 0);
    if (name >= 0) {
        long got = syscall(SYS_read, name, counter->program, sizeof counter->program - 1);
        if (got > 0)
            counter->program[got - 1] = 0;
        syscall(SYS_close, name);
    }
}

// ---- fork: the child counts into its own file, from zero, and knows the blocks that it inherited -------------------

static sigset_t fork_mask;
static uint64_t fork_live_count,
    fork_live_bytes; // `counter` is shared: the parent goes on counting while the child reads

static void fork_prepare(void)
{
    lock(&fork_mask);
    fork_live_count = counter->live_count;
    fork_live_bytes = counter->live_bytes;
}

static void fork_parent(void)
{
    unlock(&fork_mask);
}

static void fork_child(void)
{
    int saved = errno;
    struct counter *inherited = counter;
    counter = &before_file;
    memset(&before_file, 0, sizeof before_file);
    before_file.live_count = fork_live_count;
    before_file.live_bytes = before_file.peak_bytes = fork_live_bytes;
    before_file.forked = 1;
    file_open();
    if (inherited != &before_file)
        syscall(SYS_munmap, inherited, sizeof *inherited);
    errno = saved;
    unlock(&fork_mask);
}

// ---- start ---------------------------------------------------------------------------------------------------------

static atomic_int ready;
static char bootstrap[64 << 10] __attribute__((aligned(16)));
static size_t bootstrap_used;

static bool is_bootstrap(const void *pointer)
{
    return (const char *)pointer >= bootstrap && (const char *)pointer < bootstrap + sizeof bootstrap;
}

// Serves the allocations that finding the next allocator makes itself.
static void *bootstrap_allocate(size_t size)
{
    size_t at = (bootstrap_used + 31) & ~(size_t)15;
    if (at + size > sizeof bootstrap)
        return NULL;
    memcpy(bootstrap + at - sizeof size, &size, sizeof size);
    bootstrap_used = at + size;
    return bootstrap + at;
}

static void find_next(void)
{
    static _Thread_local int finding __attribute__((tls_model("initial-exec")));
    if (finding)
        return;
    finding = 1;
    *(void **)&next_calloc = dlsym(RTLD_NEXT, "calloc");
    *(void **)&next_realloc = dlsym(RTLD_NEXT, "realloc");
    *(void **)&next_memalign = dlsym(RTLD_NEXT, "memalign");
    *(void **)&next_posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
    *(void **)&next_aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
    *(void **)&next_valloc = dlsym(RTLD_NEXT, "valloc");
    *(void **)&next_pvalloc = dlsym(RTLD_NEXT, "pvalloc");
    *(void **)&next_free = dlsym(RTLD_NEXT, "free");
    *(void **)&next_malloc = dlsym(RTLD_NEXT, "malloc");
    int saved = errno;
    sigset_t before;
    lock(&before);
    file_open();
    unlock(&before);
    errno = saved;
    atomic_store(&ready, 1);
}

// False while the next allocator is not known yet: the caller then uses the bootstrap memory and counts nothing.
static bool start(void)
{
    if (!atomic_load_explicit(&ready, memory_order_acquire))
        find_next();
    return atomic_load_explicit(&ready, memory_order_acquire);
}

// Some libcs allocate for pthread_atfork: the tests know the name.
__attribute__((constructor)) static void construct_counter(void)
{
    start();
    pthread_atfork(fork_prepare, fork_parent, fork_child);
    __asm__ volatile(""); // not the last thing, or it would be a jump and this function in no stack
}

// ---- counting ------------------------------------------------------------------------------------------------------

static void gained(const void *pointer, size_t size)
{
    if ((!table || table_used * 2 >= table_slots) && !table_grow())
        return;
    struct block *stale = block_find((uintptr_t)pointer);
    if (stale)
        stale->address = 1;
    block_put((uintptr_t)pointer, size);
    counter->allocations++;
    counter->live_count++;
    counter->live_bytes += size;
}

static void lost(const void *pointer)
{
    struct block *block = block_find((uintptr_t)pointer);
    counter->deallocations++;
    if (!block) {
        counter->unknown_frees++;
        return;
    }
    counter->live_count--;
    counter->live_bytes -= block->size;
    block->address = 1;
}

static void count_allocation(enum counter_function function, void *result, size_t size)
{
    int saved = errno;
    sigset_t before;
    lock(&before);
    counter->calls[function]++;
    if (result) {
        counter->bytes[function] += size;
        gained(result, size);
        if (counter->live_bytes > counter->peak_bytes)
            counter->peak_bytes = counter->live_bytes;
    } else {
        counter->failed[function]++;
    }
    unlock(&before);
    errno = saved;
}

// musl's calloc calls malloc, its valloc memalign, its memalign and posix_memalign
// aligned_alloc, whoever's these are.
static __thread bool nested;

EXPORT void *malloc(size_t size)
{
    if (!start())
        return bootstrap_allocate(size);
    void *result = next_malloc(size);
    if (!nested)
        count_allocation(COUNTER_MALLOC, result, size);
    return result;
}

EXPORT void *calloc(size_t count, size_t each)
{
    if (!start())
        return bootstrap_allocate(count * each);
    nested = true;
    void *result = next_calloc(count, each);
    nested = false;
    count_allocation(COUNTER_CALLOC, result, count * each);
    return result;
}

EXPORT void free(void *pointer)
{
    if (is_bootstrap(pointer) || !start())
        return;
    int saved = errno;
    sigset_t before;
    lock(&before);
    counter->calls[COUNTER_FREE]++;
    if (pointer)
        lost(pointer);
    unlock(&before);
    errno = saved;
    next_free(pointer);
}

EXPORT void *realloc(void *pointer, size_t size)
{
    if (is_bootstrap(pointer)) {
        size_t old;
        memcpy(&old, (char *)pointer - sizeof old, sizeof old);
        void *moved = malloc(size);
        if (moved)
            memcpy(moved, pointer, old < size ? old : size);
        return moved;
    }
    if (!start())
        return bootstrap_allocate(size);
    // The lock is held throughout: between the real call and our count another thread may be given the old address.
    sigset_t before;
    lock(&before);
    void *result = next_realloc(pointer, size);
    int saved = errno;
    counter->calls[COUNTER_REALLOC]++;
    if (result) {
        counter->bytes[COUNTER_REALLOC] += size;
        if (pointer)
            lost(pointer);
        gained(result, size);
        if (counter->live_bytes > counter->peak_bytes)
            counter->peak_bytes = counter->live_bytes;
    } else if (pointer && size == 0) {
        lost(pointer);
    } else {
        counter->failed[COUNTER_REALLOC]++;
    }
    unlock(&before);
    errno = saved;
    return result;
}

EXPORT void *reallocarray(void *pointer, size_t count, size_t each)
{
    size_t size;
    if (__builtin_mul_overflow(count, each, &size)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(pointer, size);
}

EXPORT void *memalign(size_t alignment, size_t size)
{
    bool outer = nested;
    nested = true;
    void *result = start() ? next_memalign(alignment, size) : NULL;
    nested = outer;
    if (!nested)
        count_allocation(COUNTER_ALIGNED, result, size);
    return result;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
    void *result = start() ? next_aligned_alloc(alignment, size) : NULL;
    if (!nested)
        count_allocation(COUNTER_ALIGNED, result, size);
    return result;
}

EXPORT int posix_memalign(void **pointer, size_t alignment, size_t size)
{
    if (!start())
        return ENOMEM;
    nested = true;
    int status = next_posix_memalign(pointer, alignment, size);
    nested = false;
    count_allocation(COUNTER_ALIGNED, status ? NULL : *pointer, size);
    return status;
}

EXPORT void *valloc(size_t size)
{
    nested = true;
    void *result = start() ? next_valloc(size) : NULL;
    nested = false;
    count_allocation(COUNTER_ALIGNED, result, size);
    return result;
}

EXPORT void *pvalloc(size_t size)
{
    void *result = start() ? next_pvalloc(size) : NULL;
    count_allocation(COUNTER_ALIGNED, result, size);
    return result;
}
