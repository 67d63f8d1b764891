// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Signal handlers that allocate, map, jump away, run on tiny stacks, or use the signals that the recorder would like.
#include "program.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>

static volatile sig_atomic_t handled;
static sigjmp_buf resume;

static void allocates(int number)
{
    (void)number;
    void *block = allocate(333);
    handled++;
    free(block);
}

static void maps(int number)
{
    (void)number;
    int saved = errno;
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED) {
        *(volatile char *)page = 1;
        munmap(page, 4096);
    }
    handled++;
    errno = saved;
}

static void jumps(int number)
{
    (void)number;
    handled++;
    siglongjmp(resume, 1);
}

static void install(int number, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    MUST(sigaction(number, &action, NULL) == 0);
}

static NOINLINE int deep(int depth, int number)
{
    if (depth == 0)
        return raise(number);
    int result = deep(depth - 1, number);
    __asm__ volatile("" : "+r"(result));
    return result;
}

int main(int count, char **arguments)
{
    const char *mode = count > 1 ? arguments[1] : "raise";
    if (!strcmp(mode, "raise")) {
        install(SIGHUP, allocates, 0);
        for (int i = 0; i < 1000; i++)
            deep(i % 40, SIGHUP);
        say("handled %d\n", (int)handled);
    } else if (!strcmp(mode, "alternate-stack")) {
        // As small as it may be: what the recorder needs of the program's stack is on it too.
#ifdef _SC_MINSIGSTKSZ
        size_t size = (size_t)sysconf(_SC_MINSIGSTKSZ) + 4096;
#else
        size_t size = SIGSTKSZ + 4096;
#endif
        stack_t stack = {.ss_sp = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                         .ss_size = size};
        MUST(sigaltstack(&stack, NULL) == 0);
        install(SIGHUP, allocates, SA_ONSTACK);
        for (int i = 0; i < 1000; i++)
            deep(i % 40, SIGHUP);
        say("handled %d\n", (int)handled);
    } else if (!strcmp(mode, "timer")) {
        // The timer interrupts malloc and free anywhere; the handler does only what it may.
        install(SIGALRM, maps, SA_RESTART);
        struct itimerval every = {{0, 200}, {0, 200}};
        setitimer(ITIMER_REAL, &every, NULL);
        while (handled < 500)
            for (int i = 0; i < 100; i++)
                free(allocate(1 + (size_t)i * 7));
        struct itimerval never = {{0, 0}, {0, 0}};
        setitimer(ITIMER_REAL, &never, NULL);
        say("interrupted often enough\n");
    } else if (!strcmp(mode, "own-handlers")) {
        install(SIGUSR1, allocates, 0);
        signal(SIGUSR2, allocates);
        for (int i = 0; i < 10; i++) {
            raise(SIGUSR1);
            raise(SIGUSR2);
        }
        say("handled %d\n", (int)handled);
    } else if (!strcmp(mode, "ignored")) {
        signal(SIGUSR1, SIG_IGN);
        raise(SIGUSR1);
        free(allocate(9));
        say("ignored\n");
    } else if (!strcmp(mode, "previous")) {
        // What a program is told about the handlers that were there before must not change.
        struct sigaction before;
        MUST(sigaction(SIGUSR1, NULL, &before) == 0);
        say("SIGUSR1 had the default action: %d\n", before.sa_handler == SIG_DFL);
        say("signal returns the default action: %d\n", signal(SIGUSR2, allocates) == SIG_DFL);
        say("and then the own one: %d\n", signal(SIGUSR2, SIG_DFL) == allocates);
        free(allocate(9));
    } else if (!strcmp(mode, "fault")) {
        install(SIGSEGV, jumps, SA_NODEFER);
        for (int i = 0; i < 1000; i++) {
            void *block = allocate(64);
            if (sigsetjmp(resume, 1) == 0)
                *(volatile int *)keep(NULL) = 1;
            free(block);
        }
        say("faults %d\n", (int)handled);
    } else {
        return 2;
    }
    return 0;
}
