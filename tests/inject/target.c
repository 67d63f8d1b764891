// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A process to attach to. It reads words from standard input and answers each with a line:
//
//   work N    allocates and frees in N rounds each in this thread and in two new ones; answers what it has allocated
//   busy      starts a thread that allocates until the end
//   held      answers what glibc's allocator holds, then allocates and frees a block
//   old       frees the blocks that it allocated at its start; answers how many
//   filter N  from then on system calls go through a filter (seccomp) that lets all pass (0), ends it for pwritev (1),
//   or
//             forbids that (2)
//   answer NAME ANSWER ARGUMENT MASK VALUE
//             the same with that answer to the calls of a name of which (ARGUMENT & MASK) is VALUE
//   apart NAME ANSWER ARGUMENT MASK VALUE
//             the same for a new thread alone, which then allocates until the end
//   compute N the same; the answer to getppid is computed: a division by zero (0), or a shift by more than a word has
//   (1) first     ends the first thread; the others go on hide      makes itself undumpable made      makes code,
//   writes what it is called to /tmp/perf-PID.map, and allocates a block of 5000 bytes through it wait      a new
//   thread waits for a child of vfork; answers the thread's number go        has that child end lend      the first
//   thread waits for a child of vfork, which a signal has to end execute   executes the same program in its place later
//   a new thread does so after go leave     ends by exit()
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OLD = 40, EACH_ROUND = 6, MORE_THREADS = 2 };

static _Atomic long allocated;
static void *old[OLD];

static void keep(void *block)
{
    if (!block)
        abort();
    memset(block, 1, 8);
    allocated++;
}

static void one_round(size_t size)
{
    void *blocks[EACH_ROUND] = {malloc(size), calloc(3, size), aligned_alloc(64, 64 * size)};
    if (posix_memalign(&blocks[3], 128, size))
        abort();
    blocks[4] = strdup("a string that libc allocates");
    for (int i = 0; i < EACH_ROUND - 1; i++)
        keep(blocks[i]);
    blocks[0] = realloc(blocks[0], 4 * size);
    keep(blocks[0]);
    for (int i = 0; i < EACH_ROUND - 1; i++)
        free(blocks[i]);
}

static void *work(void *rounds)
{
    for (long i = 0; i < (long)rounds; i++)
        one_round(16 + (size_t)i % 500);
    return NULL;
}

static void *work_for_ever(void *unused)
{
    for (;;) {
        one_round(100);
        usleep(50);
    }
    return unused;
}

// 0: another C library.
static long held(void)
{
    long bytes = 0;
#ifdef __GLIBC__
    struct mallinfo2 info = mallinfo2();
    bytes = (long)(info.uordblks + info.hblkhd);
#endif
    static void *volatile block;
    block = malloc(10);
    free(block);
    return bytes;
}

// A new thread costs an allocation of libc, or none.
static void work_in_threads(long rounds)
{
    pthread_t threads[MORE_THREADS];
    for (int i = 0; i < MORE_THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)rounds))
            abort();
    work((void *)rounds);
    for (int i = 0; i < MORE_THREADS; i++)
        pthread_join(threads[i], NULL);
}

static const struct {
    const char *name;
    int number;
} calls[] = {
#include "tests/target/refused_calls.h"
};

// What is asked of one argument of a call, and the answer.
struct question {
    unsigned number, answer, argument, mask, value;
};

static long install(struct sock_filter *steps, unsigned short count)
{
    const struct sock_fprog program = {count, steps};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static long filter(const struct question *question)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, question->number, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 8 * question->argument),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, question->mask),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, question->value, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, question->answer),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    return install(steps, sizeof steps / sizeof *steps);
}

static long filter_kind(int kind)
{
    static const unsigned answers[] = {SECCOMP_RET_ALLOW, SECCOMP_RET_KILL, SECCOMP_RET_ERRNO | EPERM};
    return filter(&(struct question){.number = SYS_pwritev, .answer = answers[kind]});
}

// -1: there is no such call.
static int read_question(const char *words, struct question *question)
{
    char name[32];
    if (sscanf(words, "%*s %31s %x %u %x %x", name, &question->answer, &question->argument, &question->mask,
               &question->value) != 5)
        return -1;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (!strcmp(calls[i].name, name) && calls[i].number >= 0) {
            question->number = (unsigned)calls[i].number;
            return 0;
        }
    return -1;
}

static long answer_calls(const char *words)
{
    struct question question;
    return read_question(words, &question) ? -1 : filter(&question);
}

static long compute_answer(bool shifts)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 5),
        BPF_STMT(BPF_LD | BPF_IMM, 1),
        BPF_STMT(BPF_LDX | BPF_IMM, shifts ? 33 : 0),
        BPF_STMT(BPF_ALU | BPF_X | (shifts ? BPF_LSH : BPF_DIV), 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    return install(steps, sizeof steps / sizeof *steps);
}

static _Atomic long filtered;

static void *work_apart(void *words)
{
    filtered = answer_calls(words) ? -1 : 1;
    return filtered > 0 ? work_for_ever(NULL) : NULL;
}

static long answer_calls_apart(char *words)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, work_apart, words))
        return -1;
    while (!filtered)
        usleep(1000);
    return filtered > 0 ? 0 : -1;
}

#if defined __x86_64__
// push rbp; mov rbp, rsp; call rdi; pop rbp; ret
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
#elif defined __aarch64__
// stp x29, x30, [sp, -16]!; mov x29, sp; blr x0; ldp x29, x30, [sp], 16; ret
static const unsigned code[] = {0xa9bf7bfd, 0x910003fd, 0xd63f0000, 0xa8c17bfd, 0xd65f03c0};
#else
static const unsigned char code[1];
#endif

static void allocate_below(void)
{
    static void *volatile block;
    block = malloc(5000);
    free(block);
}

static long make(void)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    FILE *map = fopen(path, "w");
    if (memory == MAP_FAILED || !map)
        return -1;
    memcpy(memory, code, sizeof code);
    __builtin___clear_cache(memory, memory + 4096);
    fprintf(map, "%lx %x made_while_it_runs\n", (unsigned long)memory, (unsigned)sizeof code);
    fclose(map);
    void (*function)(void (*)(void));
    memcpy(&function, &memory, sizeof function);
    function(allocate_below);
    return 0;
}

static int to_child[2];
static _Atomic long waiting;

// The child shares this memory and has no libc function of its own.
static void *wait_for_child(void *unused)
{
    waiting = syscall(SYS_gettid);
    pid_t child = vfork();
    if (!child) {
        char byte;
        while (syscall(SYS_read, to_child[0], &byte, 1) != 1)
            continue;
        syscall(SYS_exit, 0);
    }
    waitpid(child, NULL, 0);
    return unused;
}

static long start_waiting(void)
{
    pthread_t thread;
    if (pipe(to_child) || pthread_create(&thread, NULL, wait_for_child, NULL))
        return -1;
    while (!waiting)
        usleep(1000);
    return waiting;
}

static long lend(void)
{
    pid_t child = vfork();
    if (!child)
        syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    while (!child)
        syscall(SYS_rt_sigsuspend, &(unsigned long[2]){0}, 8);
    return waitpid(child, NULL, 0) == child ? 0 : -1;
}

static void *execute_later(void *arguments)
{
    char byte;
    if (read(to_child[0], &byte, 1) == 1)
        execv("/proc/self/exe", arguments);
    return NULL;
}

int main(int count, char **arguments)
{
    char line[128];
    pthread_t busy;
    (void)count;
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    setvbuf(stdin, NULL, _IONBF, 0);
    for (int i = 0; i < OLD; i++)
        old[i] = malloc(1000);
    work_in_threads(1); // so that libc has what it keeps
    printf("ready\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        long answer = 0;
        if (!strncmp(line, "work ", 5)) {
            allocated = 0;
            work_in_threads(atol(line + 5));
            answer = allocated;
        } else if (!strcmp(line, "busy\n")) {
            answer = pthread_create(&busy, NULL, work_for_ever, NULL);
        } else if (!strcmp(line, "old\n")) {
            for (int i = 0; i < OLD; i++)
                free(old[i]);
            answer = OLD;
        } else if (!strcmp(line, "held\n")) {
            answer = held();
        } else if (!strncmp(line, "filter ", 7)) {
            answer = filter_kind(atoi(line + 7));
        } else if (!strncmp(line, "answer ", 7)) {
            answer = answer_calls(line);
        } else if (!strncmp(line, "compute ", 8)) {
            answer = compute_answer(atoi(line + 8));
        } else if (!strncmp(line, "apart ", 6)) {
            answer = answer_calls_apart(line);
        } else if (!strcmp(line, "hide\n")) {
            answer = prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
        } else if (!strcmp(line, "made\n")) {
            answer = make();
        } else if (!strcmp(line, "wait\n")) {
            answer = start_waiting();
        } else if (!strcmp(line, "lend\n")) {
            answer = lend();
        } else if (!strcmp(line, "go\n")) {
            answer = write(to_child[1], "g", 1);
        } else if (!strcmp(line, "execute\n")) {
            execv("/proc/self/exe", arguments);
        } else if (!strcmp(line, "later\n")) {
            answer = pipe(to_child) || pthread_create(&busy, NULL, execute_later, arguments);
        } else if (!strcmp(line, "first\n")) {
            pthread_create(&busy, NULL, work_for_ever, NULL);
            printf("0\n");
            fflush(stdout);
            pthread_exit(NULL);
        } else if (!strcmp(line, "leave\n")) {
            exit(3);
        }
        printf("%ld\n", answer);
        fflush(stdout);
    }
    return 0;
}
