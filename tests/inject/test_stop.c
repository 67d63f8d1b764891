// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Threads that cannot be stopped, with a clock that the test sets.
#include "host/inject/steer.h"
#include "host/inject/stop.h"
#include "host/inject/waiting.h"
#include "tests/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { NEVER = 1000, SKIPPED = 77 };

#define EXECUTES "executes" // the argument of one that executes itself again and again

typedef int (*stop_function)(struct hs_inject_target *target, struct hs_error *error);

static const stop_function stops[] = {hs_inject_stop__one, hs_inject_stop__all};
static struct hs_inject_target target;
static struct hs_error error;
static pid_t child;
static int to_child[2];
static bool no_memory, ends_in_call;
static int looks, goes_on_after; // looks at the clock, between which a second passes; after so many, the child goes on

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
void *__real_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size);
long __real_ptrace(int request, pid_t tid, void *address, void *data);
long __wrap_ptrace(int request, pid_t tid, void *address, void *data);

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    if (clock != CLOCK_MONOTONIC)
        return __real_clock_gettime(clock, now);
    if (looks < goes_on_after && ++looks == goes_on_after && write(to_child[1], "g", 1) != 1)
        return -1;
    *now = (struct timespec){.tv_sec = looks};
    return 0;
}

void *__wrap_realloc(void *block, size_t size)
{
    return no_memory ? NULL : __real_realloc(block, size);
}

long __wrap_ptrace(int request, pid_t tid, void *address, void *data)
{
    siginfo_t told;
    if (ends_in_call && request == PTRACE_SYSCALL) {
        kill(child, SIGKILL);
        while (waitid(P_PID, (id_t)tid, &told, WEXITED | WNOWAIT | __WALL) && errno == EINTR)
            continue;
    }
    return __real_ptrace(request, tid, address, data);
}

// The one that it waits for shares its memory.
static void wait_in_kernel(void)
{
    char byte;
    pid_t other = vfork();
    if (!other) {
        while (read(to_child[0], &byte, 1) < 0)
            continue;
        _exit(0);
    }
    waitpid(other, NULL, 0);
    for (;;)
        pause();
}

static void begin(void)
{
    ck_assert_int_eq(pipe(to_child), 0);
    child = fork();
    ck_assert_int_ge(child, 0);
    if (!child) {
        close(to_child[1]);
        wait_in_kernel();
    }
    close(to_child[0]);
    ck_assert_int_eq(hs_inject_target__open(&target, child, &error), 0);
    while (hs_inject_waiting__state(&target, child) != 'D')
        usleep(1000);
}

// The process that it waits for reads the end of the pipe.
static void end(void)
{
    kill(child, SIGKILL);
    close(to_child[1]);
    hs_inject_target__close(&target);
    while (waitpid(child, NULL, __WALL) < 0 && errno == EINTR)
        continue;
}

START_TEST(one_that_waits_in_the_kernel)
{
    goes_on_after = NEVER;
    ck_assert_int_eq(stops[_i](&target, &error), -EBUSY);
    ck_assert_ptr_nonnull(strstr(error.message, "waits in the kernel and cannot be stopped; try again later"));
    ck_assert_int_lt(looks, NEVER);
}
END_TEST

START_TEST(one_that_goes_on)
{
    goes_on_after = 10;
    ck_assert_int_eq(stops[_i](&target, &error), 0);
    ck_assert_int_eq(looks, goes_on_after);
    ck_assert_uint_eq(target.thread_count, 1);
    ck_assert(target.threads[0].is_stopped);
}
END_TEST

static int policy(void)
{
    return sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
}

// A stopped thread does not wait until other programs leave a processor to this one.
START_TEST(nothing_comes_first)
{
    hs_inject_target__hurry(true);
    const int hurried = policy(); // it may not be allowed
    hs_inject_target__hurry(false);
    goes_on_after = 10;
    ck_assert_int_eq(stops[_i](&target, &error), 0);
    ck_assert_int_eq(policy(), hurried);
    hs_inject_target__let_go(&target);
    ck_assert_int_eq(policy(), SCHED_OTHER);
}
END_TEST

static void lose_capability(int number)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[2];
    ck_assert_int_eq(syscall(SYS_capget, &header, sets), 0);
    sets[0].effective &= ~(1u << number);
    ck_assert_int_eq(syscall(SYS_capset, &header, sets), 0);
}

// As where RLIMIT_RTPRIO allows it.
START_TEST(hurry_ends_without_the_capability)
{
    hs_inject_target__hurry(true);
    lose_capability(CAP_SYS_NICE);
    hs_inject_target__hurry(false);
    ck_assert_int_eq(policy(), SCHED_OTHER);
}
END_TEST

START_TEST(hurry_keeps_the_policy)
{
    static const int policies[] = {SCHED_BATCH, SCHED_IDLE};
    const struct sched_param none = {.sched_priority = 0};
    ck_assert_int_eq(sched_setscheduler(0, policies[_i], &none), 0);
    hs_inject_target__hurry(true);
    hs_inject_target__hurry(true);
    hs_inject_target__hurry(false);
    ck_assert_int_eq(policy(), policies[_i]);
}
END_TEST

START_TEST(no_memory_is_no_end)
{
    no_memory = true;
    ck_assert_int_eq(stops[_i](&target, &error), -ENOMEM);
    ck_assert_str_eq(error.message, "out of memory");
}
END_TEST

static bool is_there(void)
{
    char byte;
    return read(to_child[0], &byte, 1) == 1;
}

START_TEST(one_that_is_traced)
{
    char expected[64];
    int ready[2];
    ck_assert_int_eq(pipe(ready), 0);
    pid_t tracer = fork();
    if (!tracer) {
        bool traces = !ptrace(PTRACE_SEIZE, child, 0, 0);
        while (write(ready[1], traces ? "y" : "n", 1) == 1)
            pause();
    }
    char answer;
    ck_assert_int_eq(read(ready[0], &answer, 1), 1);
    snprintf(expected, sizeof expected, "process %d is traced by process %d already", (int)child, (int)tracer);
    if (answer == 'y') { // yama may forbid it
        ck_assert_int_eq(stops[_i](&target, &error), -EBUSY);
        ck_assert_ptr_nonnull(strstr(error.message, expected));
    }
    kill(tracer, SIGKILL);
    waitpid(tracer, NULL, 0);
}
END_TEST

// The thread that was seized has become another one by an execve.
START_TEST(one_that_is_traced_here)
{
    ck_assert_int_eq(ptrace(PTRACE_SEIZE, child, 0, 0), 0);
    ck_assert_int_eq(stops[_i](&target, &error), -ESRCH);
    ck_assert_ptr_nonnull(strstr(error.message, "has executed another program"));
}
END_TEST

// ---- the end -------------------------------------------------------------------------------------------------------

static void *tell(void *unused)
{
    for (ssize_t told = write(to_child[1], "t", 1); told == 1;)
        pause();
    return unused;
}

static void begin_with_threads(void)
{
    pthread_t thread;
    ck_assert_int_eq(pipe(to_child), 0);
    child = fork();
    ck_assert_int_ge(child, 0);
    while (!child)
        if (pthread_create(&thread, NULL, tell, NULL) || pthread_join(thread, NULL))
            _exit(1);
    ck_assert(is_there());
    ck_assert_int_eq(hs_inject_target__open(&target, child, &error), 0);
}

// Nobody waits in vain for a thread that was killed while it was stopped.
START_TEST(killed_while_stopped)
{
    int status;
    ck_assert_int_eq(hs_inject_stop__all(&target, &error), 0);
    ck_assert_uint_eq(target.thread_count, 2);
    kill(child, SIGKILL);
    if (_i)
        hs_inject_target__let_go(&target);
    else
        while (target.thread_count)
            hs_inject_target__let_thread_go(&target, 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status));
    hs_inject_target__close(&target);
}
END_TEST

START_TEST(killed_while_it_carries_out_a_call)
{
    static uint8_t code[HS_INJECT_CODE];
    const struct hs_system_call call = {SYS_getpid, {0}};
    long result;
    int status;
    ck_assert_int_eq(hs_inject_stop__all(&target, &error), 0);
    ck_assert_uint_eq(target.thread_count, 2);
    hs_inject_target__let_thread_go(&target, target.threads[1].tid == child);
    ck_assert_int_ne(target.threads[0].tid, child);
    ends_in_call = true;
    ck_assert_int_eq(hs_inject_steer__call(&target, (uintptr_t)code, 0, &call, &result, &error), -ESRCH);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status));
    hs_inject_target__close(&target);
}
END_TEST

// ---- execve --------------------------------------------------------------------------------------------------------

enum { STOPS = 300, TO_TEST = 3 };

static void *wait_for_end(void *unused)
{
    for (;;)
        pause();
    return unused;
}

static void *execute(void *by_first)
{
    char *const arguments[] = {"stop", EXECUTES, by_first ? "thread" : "first", NULL};
    execv("/proc/self/exe", arguments);
    _exit(1);
}

// In turn by the first thread and by another one. Other threads make an execve longer.
static void execute_again(bool by_first)
{
    pthread_t thread;
    bool has_told = write(TO_TEST, "e", 1) == 1;
    for (int i = 0; i < 2; i++)
        if (!has_told || pthread_create(&thread, NULL, wait_for_end, NULL))
            _exit(1);
    if (by_first)
        execute("first");
    else if (!pthread_create(&thread, NULL, execute, NULL))
        wait_for_end(NULL);
    _exit(1);
}

static void begin_to_execute(int told[2])
{
    ck_assert_int_eq(pipe2(told, O_CLOEXEC | O_NONBLOCK), 0);
    child = fork();
    ck_assert_int_ge(child, 0);
    if (!child) {
        if (dup2(told[1], TO_TEST) == TO_TEST && !fcntl(TO_TEST, F_SETFL, 0))
            execute_again(true);
        _exit(1);
    }
    close(told[1]);
}

// It has executed itself again since this was called first.
static void wait_until_it_executes(int told)
{
    char bytes[64];
    while (read(told, bytes, sizeof bytes) > 0)
        continue;
    struct pollfd one = {told, POLLIN, 0};
    while (poll(&one, 1, -1) < 0)
        continue;
    ck_assert_int_gt(read(told, bytes, sizeof bytes), 0);
}

// The kernel may lose what it was asked, and a thread may become another one.
START_TEST(one_that_executes)
{
    int told[2];
    begin_to_execute(told);
    for (int i = 0; i < STOPS; i++) {
        int failed = hs_inject_target__open(&target, child, &error);
        if (!failed)
            failed = stops[_i](&target, &error);
        ck_assert_msg(!failed || failed == -ESRCH, "%s", error.message);
        hs_inject_target__close(&target);
        wait_until_it_executes(told[0]);
    }
    kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    close(told[0]);
}
END_TEST

// In a container it may not be.
static bool is_allowed(void)
{
    pid_t other = fork();
    while (!other)
        pause();
    bool allowed = !ptrace(PTRACE_SEIZE, other, 0, 0);
    kill(other, SIGKILL);
    waitpid(other, NULL, __WALL);
    return allowed;
}

int main(int count, char **arguments)
{
    if (count == 3 && !strcmp(arguments[1], EXECUTES))
        execute_again(!strcmp(arguments[2], "first"));
    if (!is_allowed())
        return SKIPPED;
    Suite *suite = suite_create("stop");
    TCase *cases = tcase_create("stop");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_add_loop_test(cases, one_that_waits_in_the_kernel, 0, 2);
    tcase_add_loop_test(cases, one_that_goes_on, 0, 2);
    tcase_add_loop_test(cases, nothing_comes_first, 0, 2);
    tcase_add_test(cases, hurry_ends_without_the_capability);
    tcase_add_loop_test(cases, hurry_keeps_the_policy, 0, 2);
    tcase_add_loop_test(cases, no_memory_is_no_end, 0, 2);
    tcase_add_loop_test(cases, one_that_is_traced, 0, 2);
    tcase_add_loop_test(cases, one_that_is_traced_here, 0, 2);
    suite_add_tcase(suite, cases);
    TCase *ends = tcase_create("ends");
    tcase_add_checked_fixture(ends, begin_with_threads, NULL);
    tcase_add_loop_test(ends, killed_while_stopped, 0, 2);
    tcase_add_test(ends, killed_while_it_carries_out_a_call);
    suite_add_tcase(suite, ends);
    TCase *executing = tcase_create("execve");
    tcase_add_loop_test(executing, one_that_executes, 0, 2);
    suite_add_tcase(suite, executing);
    return run_suite(suite);
}
