// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Allocates, then ends in the way that its argument says.
#include "program.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static void at_exit(void)
{
    free(allocate(50));
    keep(allocate(51));
    say("atexit handler\n");
}

static void at_quick_exit_handler(void)
{
    free(allocate(60));
    keep(allocate(61));
    say("at_quick_exit handler\n");
}

static void on_abort(int number)
{
    (void)number;
    say("SIGABRT handler\n");
}

static void *exits(void *status)
{
    free(allocate(70));
    exit((int)(intptr_t)status);
}

enum { STRICTLY = 1 }; // SECCOMP_MODE_STRICT: musl has no header that says so

static pthread_barrier_t main_is_going;

static void *goes_on(void *main_thread)
{
    pthread_barrier_wait(&main_is_going);
    MUST(pthread_join(*(pthread_t *)main_thread, NULL) == 0);
    for (int i = 0; i < 1000; i++)
        free(allocate(80));
    say("went on without the main thread\n");
    return NULL;
}

static void *goes_on_and_exits_alone(void *main_thread)
{
    goes_on(main_thread);
    syscall(SYS_exit, 21);
    return NULL;
}

// The thread alone: the process ends with its last one.
static void exit_alone(int status)
{
    for (;;)
        syscall(SYS_exit, status);
}

static void start_beside(void *(*thread_main)(void *))
{
    static pthread_t self, thread;
    self = pthread_self();
    pthread_barrier_init(&main_is_going, NULL, 2);
    MUST(pthread_create(&thread, NULL, thread_main, &self) == 0);
    pthread_barrier_wait(&main_is_going);
}

int main(int count, char **arguments)
{
    const char *how = count > 1 ? arguments[1] : "return";
    MUST(atexit(at_exit) == 0);
    MUST(at_quick_exit(at_quick_exit_handler) == 0);
    for (int i = 0; i < 1000; i++) {
        void *block = allocate(24 + (size_t)i % 100);
        if (i % 10)
            free(block);
    }
    say("ending by %s\n", how);
    if (!strcmp(how, "exit"))
        exit(11);
    if (!strcmp(how, "_exit"))
        _exit(12);
    if (!strcmp(how, "_Exit"))
        _Exit(13);
    if (!strcmp(how, "exit_group"))
        syscall(SYS_exit_group, 14);
    if (!strcmp(how, "quick_exit"))
        quick_exit(15);
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "abort-handled")) {
        signal(SIGABRT, on_abort);
        abort();
    }
    if (!strcmp(how, "kill"))
        raise(SIGKILL);
    if (!strcmp(how, "idle"))
        pause();
    if (!strcmp(how, "term"))
        raise(SIGTERM);
    if (!strcmp(how, "segfault"))
        *(volatile int *)keep(NULL) = 1;
    if (!strcmp(how, "trap"))
        __builtin_trap();
    if (!strcmp(how, "thread-exit")) {
        pthread_t thread;
        MUST(pthread_create(&thread, NULL, exits, (void *)(intptr_t)16) == 0);
        pthread_join(thread, NULL);
    }
    if (!strcmp(how, "main-pthread-exit")) {
        start_beside(goes_on);
        pthread_exit(NULL);
    }
    if (!strcmp(how, "exit-alone"))
        exit_alone(19);
    if (!strcmp(how, "exit-alone-strictly")) {
        MUST(prctl(PR_SET_SECCOMP, STRICTLY) == 0);
        exit_alone(20);
    }
    if (!strcmp(how, "exit-one-by-one")) {
        start_beside(goes_on_and_exits_alone);
        exit_alone(21);
    }
    if (!strcmp(how, "exit-with-threads")) {
        // The others wait for ever while this one ends the process.
        static pthread_t threads[4];
        static pthread_mutex_t never = PTHREAD_MUTEX_INITIALIZER;
        pthread_mutex_lock(&never);
        for (int i = 0; i < 4; i++)
            MUST(pthread_create(&threads[i], NULL, (void *(*)(void *))pthread_mutex_lock, &never) == 0);
        exit(17);
    }
    return 18;
}
