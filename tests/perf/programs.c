// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Programs of which it is known where their CPU time goes and what memory they touch. What is true they say themselves.
#include "tests/perf/put_together.h"
#include "tests/perf/resident.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOT_INLINE __attribute__((noinline, noclone))

static volatile unsigned long sink;

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t cpu_ns(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

// How far the kernel's timer interrupts, which alone move the coarse clock on, are behind; then waits until they come.
// An emulated MIPS that has to wait for its processor while the kernel sets the timer misses it, and with it every
// sample, until its counter of 32 bits is there again, 26 seconds later.
static uint64_t wait_for_timer(void)
{
    enum { STANDS_STILL_NS = 1000000000 };
    uint64_t coarse = clock_ns(CLOCK_MONOTONIC_COARSE), now = clock_ns(CLOCK_MONOTONIC);
    uint64_t behind = now > coarse ? now - coarse : 0, left = behind;
    while (left > STANDS_STILL_NS) {
        coarse = clock_ns(CLOCK_MONOTONIC_COARSE);
        now = clock_ns(CLOCK_MONOTONIC);
        left = now > coarse ? now - coarse : 0;
    }
    return behind;
}

// What the compiler may not leave out.
static void *volatile kept;

static void allocate(void)
{
    kept = malloc(10);
    free(kept);
}

// Burns CPU time until the thread's own clock says that it is enough.
NOT_INLINE static uint64_t burn(uint64_t ns)
{
    uint64_t start = cpu_ns(), now;
    do {
        for (int i = 0; i < 200000; i++)
            sink += (unsigned long)i;
        now = cpu_ns();
    } while (now - start < ns);
    return now - start;
}

// ---- split: three stacks with 70, 20 and 10 percent ----------------------------------------------------------------

static uint64_t spent[3], spent_most[3];

NOT_INLINE static void seventy(uint64_t ns)
{
    spent[0] += burn(ns * 70 / 100);
    sink++;
}

NOT_INLINE static void twenty(uint64_t ns)
{
    spent[1] += burn(ns * 20 / 100);
    sink++;
}

NOT_INLINE static void ten(uint64_t ns)
{
    spent[2] += burn(ns * 10 / 100);
    sink++;
}

static void burn_in_rounds(uint64_t ns)
{
    // Each stretch may miss the samples that are due to it by one, and rounds as long as a number of periods miss it
    // each time: few stretches keep that small.
    enum { ROUNDS = 4 };
    for (int i = 0; i < ROUNDS; i++) {
        seventy(ns / ROUNDS);
        twenty(ns / ROUNDS);
        ten(ns / ROUNDS);
    }
}

// The same, of which nothing counts: the recorder sees this code for the first time, which may take longer than it
// lasts.
NOT_INLINE static void warm_up(void (*rounds)(uint64_t ns), uint64_t ns)
{
    rounds(ns);
    memset(spent, 0, sizeof spent);
    memset(spent_most, 0, sizeof spent_most);
}

static int split(uint64_t ns, uint64_t before)
{
    allocate();
    warm_up(burn_in_rounds, before);
    burn_in_rounds(ns);
    printf("seventy %llu twenty %llu ten %llu timer_behind %llu\n", (unsigned long long)spent[0],
           (unsigned long long)spent[1], (unsigned long long)spent[2], (unsigned long long)wait_for_timer());
    return 0;
}

// ---- wait: three stacks off the processor for 70, 20 and 10 percent, in many pieces --------------------------------

// A wait takes at least what was asked for, and at most what it took in all. The thread's own clock says no more: it
// leaves out what a virtual machine's processor loses to others, while the thread is on it.
static void end_wait(unsigned kind, uint64_t asked_ns, uint64_t begin)
{
    spent[kind] += asked_ns;
    spent_most[kind] += clock_ns(CLOCK_MONOTONIC) - begin;
}

NOT_INLINE static void sleep_seventy(uint64_t ns)
{
    uint64_t begin = clock_ns(CLOCK_MONOTONIC);
    struct timespec piece = {0, (long)(ns * 70 / 100)};
    nanosleep(&piece, NULL);
    end_wait(0, (uint64_t)piece.tv_nsec, begin);
}

NOT_INLINE static void poll_twenty(uint64_t ns)
{
    uint64_t begin = clock_ns(CLOCK_MONOTONIC);
    struct timespec piece = {0, (long)(ns * 20 / 100)};
    ppoll(NULL, 0, &piece, NULL);
    end_wait(1, (uint64_t)piece.tv_nsec, begin);
}

// Another thread wakes it.
static int asked[2], answered[2];

static void *answer_later(void *unused)
{
    uint64_t ns;
    while (read(asked[0], &ns, sizeof ns) == sizeof ns) {
        struct timespec piece = {0, (long)ns};
        nanosleep(&piece, NULL);
        if (write(answered[1], &ns, sizeof ns) != sizeof ns)
            exit(1);
    }
    return unused;
}

NOT_INLINE static void read_ten(uint64_t ns)
{
    uint64_t begin = clock_ns(CLOCK_MONOTONIC);
    uint64_t piece = ns * 10 / 100;
    if (write(asked[1], &piece, sizeof piece) != sizeof piece ||
        read(answered[0], &piece, sizeof piece) != sizeof piece)
        exit(1);
    end_wait(2, piece, begin);
}

static void wait_in_rounds(uint64_t ns)
{
    enum { ROUNDS = 50 };
    for (int i = 0; ns && i < ROUNDS; i++) {
        sleep_seventy(ns / ROUNDS);
        poll_twenty(ns / ROUNDS);
        read_ten(ns / ROUNDS);
    }
}

static int wait_in_pieces(uint64_t ns, uint64_t before)
{
    pthread_t thread;
    if (pipe(asked) || pipe(answered) || pthread_create(&thread, NULL, answer_later, NULL))
        return 1;
    allocate();
    warm_up(wait_in_rounds, before);
    wait_in_rounds(ns);
    static const char *const names[] = {"sleep_seventy", "poll_twenty", "read_ten"};
    for (unsigned kind = 0; kind < 3; kind++)
        printf("%s %llu %s-most %llu ", names[kind], (unsigned long long)spent[kind], names[kind],
               (unsigned long long)spent_most[kind]);
    return 0;
}

// ---- touch: known parts of big blocks ------------------------------------------------------------------------------

static void touch(char *block, size_t from, size_t to, size_t step)
{
    for (size_t at = from; at < to; at += step)
        block[at] = 1;
}

static bool in_huge_pages;

// Every page on its own, or huge ones where the kernel has them.
static char *with_pages(char *block, size_t size)
{
    uintptr_t first = ((uintptr_t)block + 4095) & ~(uintptr_t)4095;
    if (in_huge_pages)
        madvise((void *)first, size - 4096, MADV_HUGEPAGE);
    return block;
}

NOT_INLINE static char *allocate_half(size_t size)
{
    char *block = with_pages(malloc(size), size);
    touch(block, 0, size / 2, 4096);
    return block;
}

NOT_INLINE static char *allocate_every_tenth(size_t size)
{
    char *block = with_pages(malloc(size), size);
    touch(block, 0, size, 40960);
    return block;
}

NOT_INLINE static char *allocate_here_and_there(size_t size)
{
    char *block = with_pages(malloc(size), size);
    touch(block, 0, size, 16 << 20);
    return block;
}

NOT_INLINE static char *allocate_untouched(size_t size)
{
    return with_pages(malloc(size), size);
}

NOT_INLINE static char *allocate_mapping(size_t size)
{
    char *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    with_pages(block, size);
    touch(block, size / 4, size / 2, 4096);
    return block;
}

// Of small blocks every fourth stays, so that no allocator can give their pages back.
static void free_small_blocks(void)
{
    enum { BLOCKS = 8192, SIZE = 1000, STAYS = 4 };
    static char *block[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        block[i] = malloc(SIZE);
        memset(block[i], 1, SIZE);
    }
    for (int i = 0; i < BLOCKS; i++)
        if (i % STAYS)
            free(block[i]);
    printf("kept %d freed %d ", BLOCKS / STAYS * SIZE, BLOCKS / STAYS * (STAYS - 1) * SIZE);
}

// This thread, not the recorder's: each processor has rings of its own.
static void stay_here(void)
{
    cpu_set_t here;
    allocate();
    CPU_ZERO(&here);
    CPU_SET((size_t)sched_getcpu(), &here);
    sched_setaffinity(0, sizeof here, &here);
}

static int touch_blocks(const char *mebibytes)
{
    size_t size = (size_t)strtoull(mebibytes, NULL, 10) << 20;
    unsigned long long before = pages_put_together();
    // From the start: a block of which one page is there the kernel may put together at any time, without a fault.
    if (!in_huge_pages)
        prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    char *half = allocate_half(size);
    char *tenth = allocate_every_tenth(size);
    char *sparse = allocate_here_and_there(size);
    char *untouched = allocate_untouched(size);
    char *mapping = allocate_mapping(size);
    free_small_blocks();
    printf("allocate_half %lld allocate_every_tenth %lld allocate_here_and_there %lld allocate_untouched %lld "
           "allocate_mapping %lld ",
           resident(half, size), resident(tenth, size), resident(sparse, size), resident(untouched, size),
           resident(mapping, size));
    printf("put_together %llu\n", pages_put_together() - before);
    return 0;
}

// ---- threads: many that come and go, each touching a page of its own -----------------------------------------------

enum { THREADS = 1000, AT_ONCE = 8, PAGE = 4096 };
static char *pages;

static void *touch_own_page(void *number)
{
    pages[(size_t)(uintptr_t)number * PAGE] = 1;
    return NULL;
}

static int count_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

NOT_INLINE static char *allocate_pages(void)
{
    return malloc((size_t)(THREADS + 1) * PAGE);
}

static int threads(void)
{
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    pages = allocate_pages();
    int before = count_descriptors();
    for (size_t first = 0; first < THREADS; first += AT_ONCE) {
        pthread_t thread[AT_ONCE];
        for (size_t i = 0; i < AT_ONCE; i++)
            if (pthread_create(&thread[i], NULL, touch_own_page, (void *)(uintptr_t)(first + i)))
                return 1;
        for (size_t i = 0; i < AT_ONCE; i++)
            pthread_join(thread[i], NULL);
    }
    printf("descriptors %d\n", count_descriptors() - before);
    return 0;
}

// ---- mapped: code of two files, mapped over each other without the loader ------------------------------------------

// Needs nothing of where it is but itself.
NOT_INLINE static unsigned long spin(unsigned long rounds)
{
    for (unsigned long i = 0; i < rounds; i++)
        __asm__ volatile("" : "+r"(i));
    return rounds;
}

static char *map_at(char *base, int fd)
{
    struct dl_phdr_info info = {.dlpi_phdr = (const ElfW(Phdr) *)getauxval(AT_PHDR)};
    for (size_t i = 0; i < getauxval(AT_PHNUM); i++) {
        const ElfW(Phdr) *header = &info.dlpi_phdr[i];
        size_t inside = header->p_offset % PAGE;
        if (header->p_type != PT_LOAD || header->p_flags & PF_W)
            continue;
        if (mmap(base + header->p_vaddr - inside, header->p_filesz + inside,
                 PROT_READ | (header->p_flags & PF_X ? PROT_EXEC : 0), MAP_PRIVATE | MAP_FIXED, fd,
                 (off_t)(header->p_offset - inside)) == MAP_FAILED)
            exit(1);
    }
    return base;
}

static int copy_of_this_program(const char *path)
{
    char buffer[1 << 16];
    int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0700);
    for (ssize_t got; (got = read(from, buffer, sizeof buffer)) > 0;)
        if (write(to, buffer, (size_t)got) != got)
            exit(1);
    close(from);
    return to;
}

static uint64_t spin_at(const char *base, uint64_t ns)
{
    extern const char __ehdr_start[] __attribute__((visibility("hidden")));
    uintptr_t place = (uintptr_t)spin - (uintptr_t)__ehdr_start + (uintptr_t)base;
    unsigned long (*there)(unsigned long) = (unsigned long (*)(unsigned long))place;
    uint64_t start = cpu_ns(), now;
    do
        there(20000000);
    while ((now = cpu_ns()) - start < ns);
    return now - start;
}

static int mapped(const char *first, const char *second)
{
    enum { SPACE = 16 << 20, NS = 1000000000 };
    char *base = mmap(NULL, SPACE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    allocate();
    uint64_t in_first = spin_at(map_at(base, copy_of_this_program(first)), NS);
    // Before code may go, what was sampled in it is taken out of the rings.
    dlclose(dlopen(NULL, RTLD_NOW));
    uint64_t in_second = spin_at(map_at(base, copy_of_this_program(second)), NS);
    printf("first %llu second %llu\n", (unsigned long long)in_first, (unsigned long long)in_second);
    return 0;
}

// ---- children: forked ones have samples of their own, executed ones none of ours -----------------------------------

NOT_INLINE static uint64_t of_the_child(uint64_t ns)
{
    uint64_t result = burn(ns);
    sink++;
    return result;
}

NOT_INLINE static uint64_t of_the_parent(uint64_t ns)
{
    uint64_t result = burn(ns);
    sink += 2; // two functions that are alike would become one
    return result;
}

static int children(const char *self)
{
    enum { MS = 400 };
    allocate();
    fflush(stdout);
    pid_t forked = fork();
    if (!forked) {
        allocate();
        of_the_child(MS * 1000000ull);
        exit(0);
    }
    pid_t executed = fork();
    if (!executed) {
        execl(self, self, "descriptors", (char *)NULL);
        _exit(99);
    }
    int status[2];
    uint64_t parent = of_the_parent(MS * 1000000ull);
    waitpid(forked, &status[0], 0);
    waitpid(executed, &status[1], 0);
    printf("child %d parent %llu\n", (int)forked, (unsigned long long)parent);
    return status[0] || status[1];
}

// Nothing but the standard ones may be open.
static int descriptors(void)
{
    return count_descriptors() > 3;
}

// ---- refuse: the rest of the arguments without perf_event_open -----------------------------------------------------

static int error_of(const char *name)
{
    static const struct {
        const char *name;
        int number; // not the same on each architecture
    } errors[] = {{"EPERM", EPERM}, {"ENOENT", ENOENT}, {"ENODEV", ENODEV}, {"ENOSYS", ENOSYS}};
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (!strcmp(errors[i].name, name))
            return errors[i].number;
    exit(2);
}

static int refuse(int error, const char *preload, char **arguments)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
        return 77;
    setenv("LD_PRELOAD", preload, 1);
    execv(arguments[0], arguments);
    return 99;
}

// ---- paranoid: the rest of the arguments without the right to use perf_event, with the kernel's setting as given ---

#define PARANOID "/proc/sys/kernel/perf_event_paranoid"

static void put_paranoid(const char *level)
{
    FILE *file = fopen(PARANOID, "we");
    if (!file || fprintf(file, "%s\n", level) < 0 || fclose(file))
        exit(77);
}

// Root has all rights that the bounding set leaves, also after an exec.
static void execute_without_rights(const char *preload, char **arguments)
{
    enum { SYS_ADMIN = 21, PERFMON = 38 };
    if (prctl(PR_CAPBSET_DROP, SYS_ADMIN, 0, 0, 0) || prctl(PR_CAPBSET_DROP, PERFMON, 0, 0, 0))
        _exit(77);
    setenv("LD_PRELOAD", preload, 1);
    execv(arguments[0], arguments);
    _exit(99);
}

static int paranoid(const char *level, const char *preload, char **arguments)
{
    char before[16] = "";
    int status = 0;
    FILE *file = fopen(PARANOID, "re");
    if (!file || !fgets(before, sizeof before, file) || fclose(file))
        return 77;
    put_paranoid(level);
    pid_t child = fork();
    if (!child)
        execute_without_rights(preload, arguments);
    waitpid(child, &status, 0);
    before[strcspn(before, "\n")] = 0;
    put_paranoid(before);
    return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

static uint64_t milliseconds(const char *argument)
{
    return argument ? strtoull(argument, NULL, 10) * 1000000 : 0;
}

// Of twenty blocks with mappings of their own one is there at a time; nothing gets the address of another.
static int pass_blocks(void)
{
    for (size_t i = 0; i < 20; i++) {
        size_t size = (4 + i % 5) << 20;
        char *block = with_pages(malloc(size), size);
        touch(block, 0, size, 4096);
        free(block);
        kept = mmap(NULL, 16 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    return 0;
}

int main(int count, char **arguments)
{
    const char *what = count > 1 ? arguments[1] : "";
    if (count > 2 && !strcmp(what, "split"))
        return split(milliseconds(arguments[2]), milliseconds(arguments[3]));
    if (count > 2 && !strcmp(what, "wait"))
        return wait_in_pieces(milliseconds(arguments[2]), milliseconds(arguments[3]));
    if (count > 2 && !strcmp(what, "touch"))
        return touch_blocks(arguments[2]);
    if (count > 2 && !strcmp(what, "huge")) {
        in_huge_pages = true;
        return touch_blocks(arguments[2]);
    }
    if (count > 2 && !strcmp(what, "touch_here")) {
        stay_here();
        return touch_blocks(arguments[2]);
    }
    if (!strcmp(what, "pass"))
        return pass_blocks();
    if (count > 3 && !strcmp(what, "mapped"))
        return mapped(arguments[2], arguments[3]);
    if (!strcmp(what, "threads"))
        return threads();
    if (!strcmp(what, "children"))
        return children(arguments[0]);
    if (!strcmp(what, "descriptors"))
        return descriptors();
    if (count > 4 && !strcmp(what, "refuse"))
        return refuse(error_of(arguments[2]), arguments[3], arguments + 4);
    if (count > 4 && !strcmp(what, "paranoid"))
        return paranoid(arguments[2], arguments[3], arguments + 4);
    fprintf(
        stderr,
        "usage: %s split MS [BEFORE] | wait MS [BEFORE] | touch MIB | huge MIB | touch_here MIB | pass | mapped FIRST "
        "SECOND | threads | "
        "children | "
        "refuse ERROR PRELOAD PROGRAM... | paranoid LEVEL PRELOAD PROGRAM...\n",
        arguments[0]);
    return 2;
}
