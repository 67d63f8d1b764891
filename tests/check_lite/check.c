// SPDX-License-Identifier: MIT OR Apache-2.0
#define _GNU_SOURCE
#include "check.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST_TESTS    64
#define MOST_CASES    16
#define MOST_FIXTURES 4

struct loop {
    const TTest *test;
    int from, to;
};

struct test_case {
    const char *name;
    double timeout;
    void (*setups[MOST_FIXTURES])(void), (*teardowns[MOST_FIXTURES])(void);
    struct loop loops[MOST_TESTS];
    int fixture_count, loop_count;
};

struct suite {
    const char *name;
    TCase *cases[MOST_CASES];
    int count;
};

struct suite_runner {
    Suite *suite;
    int run, failed;
    enum fork_status forks;
};

static const char *running_case, *running_test;
static int running_round;

static void *made(size_t size)
{
    void *memory = calloc(1, size);
    if (!memory)
        abort();
    return memory;
}

static void must_have_room(int used, int room)
{
    if (used < room)
        return;
    fprintf(stderr, "tests/check_lite/check.c: more than %d of something in one suite; raise the limit\n", room);
    exit(2);
}

Suite *suite_create(const char *name)
{
    Suite *suite = made(sizeof *suite);
    suite->name = name;
    return suite;
}

TCase *tcase_create(const char *name)
{
    TCase *tests = made(sizeof *tests);
    tests->name = name;
    const char *given = getenv("CK_DEFAULT_TIMEOUT");
    tests->timeout = given ? atof(given) : 180;
    return tests;
}

void suite_add_tcase(Suite *suite, TCase *tests)
{
    must_have_room(suite->count, MOST_CASES);
    suite->cases[suite->count++] = tests;
}

void tcase_set_timeout(TCase *tests, double seconds)
{
    tests->timeout = seconds;
}

void tcase_add_checked_fixture(TCase *tests, void (*setup)(void), void (*teardown)(void))
{
    must_have_room(tests->fixture_count, MOST_FIXTURES);
    tests->setups[tests->fixture_count] = setup;
    tests->teardowns[tests->fixture_count++] = teardown;
}

void tcase_add_loop_test(TCase *tests, const TTest *test, int from, int to)
{
    must_have_room(tests->loop_count, MOST_TESTS);
    tests->loops[tests->loop_count++] = (struct loop){test, from, to};
}

void check_lite_fail(const char *file, int line, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    printf("%s:%d:F:%s:%s:%d: ", file, line, running_case, running_test, running_round);
    vprintf(format, list);
    putchar('\n');
    va_end(list);
    fflush(NULL);
    _exit(1);
}

static void run_here(const TCase *tests, const TTest *test, int round)
{
    for (int i = 0; i < tests->fixture_count; i++)
        if (tests->setups[i])
            tests->setups[i]();
    test->run(round);
    for (int i = tests->fixture_count; i-- > 0;)
        if (tests->teardowns[i])
            tests->teardowns[i]();
}

// Waits for SIGCHLD, which is blocked here; false when the time is over.
static int ends_in_time(pid_t child, double seconds, int *status)
{
    struct timespec began, now;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    clock_gettime(CLOCK_MONOTONIC, &began);
    for (;;) {
        if (waitpid(child, status, WNOHANG) == child)
            return 1;
        clock_gettime(CLOCK_MONOTONIC, &now);
        double left = seconds - (double)(now.tv_sec - began.tv_sec) - (double)(now.tv_nsec - began.tv_nsec) / 1e9;
        if (left <= 0)
            return 0;
        struct timespec wait = {(time_t)left, (long)((left - (double)(time_t)left) * 1e9)};
        sigtimedwait(&set, NULL, &wait);
    }
}

static int run_one(const TCase *tests, const TTest *test, int round, enum fork_status forks)
{
    sigset_t set, before;
    int status = 0;
    running_case = tests->name;
    running_test = test->name;
    running_round = round;
    fflush(NULL);
    if (forks == CK_NOFORK) {
        run_here(tests, test, round);
        return 1;
    }
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, &before);
    pid_t child = fork();
    if (child == 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        setpgid(0, 0);
        run_here(tests, test, round);
        exit(0);
    }
    int in_time = child > 0 && ends_in_time(child, tests->timeout, &status);
    if (child > 0 && !in_time) {
        kill(-child, SIGKILL);
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (in_time && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 1;
    if (child < 0)
        printf("%s:%s:%d: no process could be made\n", tests->name, test->name, round);
    else if (!in_time)
        printf("%s:%s:%d: not done after %g s\n", tests->name, test->name, round, tests->timeout);
    else if (WIFSIGNALED(status))
        printf("%s:%s:%d: ended by signal %d\n", tests->name, test->name, round, WTERMSIG(status));
    else if (WEXITSTATUS(status) != 1)
        printf("%s:%s:%d: ended with exit status %d\n", tests->name, test->name, round, WEXITSTATUS(status));
    return 0;
}

SRunner *srunner_create(Suite *suite)
{
    SRunner *runner = made(sizeof *runner);
    runner->suite = suite;
    return runner;
}

void srunner_set_fork_status(SRunner *runner, enum fork_status status)
{
    runner->forks = status;
}

// CK_RUN_CASE chooses one case, as with Check.
void srunner_run_all(SRunner *runner, enum check_mode mode __attribute__((unused)))
{
    const char *only = getenv("CK_RUN_CASE");
    for (int c = 0; c < runner->suite->count; c++) {
        const TCase *tests = runner->suite->cases[c];
        if (only && strcmp(only, tests->name))
            continue;
        for (int t = 0; t < tests->loop_count; t++) {
            for (int round = tests->loops[t].from; round < tests->loops[t].to; round++) {
                runner->run++;
                runner->failed += !run_one(tests, tests->loops[t].test, round, runner->forks);
            }
        }
    }
    printf("%s: %d tests, %d failed\n", runner->suite->name, runner->run, runner->failed);
}

int srunner_ntests_failed(SRunner *runner)
{
    return runner->failed;
}

void srunner_free(SRunner *runner)
{
    for (int c = 0; c < runner->suite->count; c++)
        free(runner->suite->cases[c]);
    free(runner->suite);
    free(runner);
}
