// SPDX-License-Identifier: MIT OR Apache-2.0
//
// All processes of a program, under ptrace. They are traced by a thread of its own: when it ends, the kernel lets go of
// those that are left, wherever they are.
#include "host/cli/follow.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    TRACED = PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC,
    // While the library is put into a program: its thread is not traced.
    JOINED = PTRACE_O_TRACEFORK | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD
};

struct tracing {
    const struct hs_follow_wish *wish;
    struct hs_error *error;
    pid_t child;
    int failed;
    bool passes; // what is executed does not belong to what is recorded yet
};

// ---- waiting --------------------------------------------------------------------------------------------------------

static bool has_ended(const siginfo_t *told)
{
    return told->si_code == CLD_EXITED || told->si_code == CLD_KILLED || told->si_code == CLD_DUMPED;
}

// False: it has ended.
static bool wait_until_stopped(pid_t pid)
{
    siginfo_t told = {.si_pid = 0};
    while (waitid(P_PID, (id_t)pid, &told, WEXITED | WSTOPPED | WNOWAIT) && errno == EINTR)
        continue;
    return told.si_pid && !has_ended(&told);
}

// ---- a program that was executed -----------------------------------------------------------------------------------

static void read_name(pid_t pid, char *name, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    ssize_t length = readlink(path, name, size - 1);
    name[length > 0 ? length : 0] = 0;
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    FILE *file = *name ? NULL : fopen(path, "re");
    if (file && fgets(name, (int)size, file))
        name[strcspn(name, "\n")] = 0;
    if (file)
        fclose(file);
}

static void say(const struct tracing *tracing, pid_t pid, const char *why)
{
    char name[PATH_MAX];
    read_name(pid, name, sizeof name);
    tracing->wish->listener(tracing->wish->context, pid, name, why);
}

static void join(const struct tracing *tracing, pid_t pid, const char *path)
{
    struct hs_inject_request request = tracing->wish->request;
    struct hs_inject_result result;
    struct hs_error error = {.message = ""};
    request.pid = pid;
    ptrace(PTRACE_SETOPTIONS, pid, 0, (void *)(uintptr_t)JOINED);
    int failed = hs_inject__join(&request, &result, &error);
    const bool is_loaded = failed == -EALREADY; // by the dynamic linker: it records malloc
    if (is_loaded)
        failed = hs_inject__has_allocators(path) ? hs_inject__adopt_joined(&request, &result, &error) : 0;
    ptrace(PTRACE_SETOPTIONS, pid, 0, (void *)(uintptr_t)TRACED);
    // It is at a stop of any kind. The next one says whether a signal has stopped it meanwhile.
    ptrace(PTRACE_INTERRUPT, pid, 0, 0);
    ptrace(PTRACE_CONT, pid, 0, 0);
    // What fails while it ends is none of its faults.
    if (failed && failed != -ESRCH && wait_until_stopped(pid)) {
        char why[sizeof error.message + 64];
        snprintf(why, sizeof why, "%s: %s",
                 is_loaded ? "has its own allocator, which is not recorded" : "is not recorded", error.message);
        say(tracing, pid, why);
    }
}

static bool has_first_argument(pid_t pid, const char *wanted)
{
    char path[64], *word = NULL;
    size_t size = 0;
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    FILE *file = fopen(path, "re");
    bool has =
        file && getdelim(&word, &size, 0, file) > 0 && getdelim(&word, &size, 0, file) > 0 && !strcmp(word, wanted);
    if (file)
        fclose(file);
    free(word);
    return has;
}

static bool passes(struct tracing *tracing, pid_t pid)
{
    const bool passed = tracing->passes;
    if (passed)
        tracing->passes = !has_first_argument(pid, tracing->wish->passes_to);
    return passed;
}

static void take_program(struct tracing *tracing, pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    enum hs_inject_program program = hs_inject__program(path);
    unsigned long unused;
    if (ptrace(PTRACE_GETEVENTMSG, pid, 0, &unused))
        return; // it was killed meanwhile, so that it has no file any more
    if (program == HS_INJECT_PROGRAM_TRACES) {
        say(tracing, pid,
            "may trace programs itself (ptrace), so it is not followed, nor are the programs that it starts");
        ptrace(PTRACE_DETACH, pid, 0, 0);
    } else if (program == HS_INJECT_PROGRAM_OTHER) {
        say(tracing, pid, "is not recorded: it is for another machine, or its file cannot be read");
        ptrace(PTRACE_CONT, pid, 0, 0);
    } else if (passes(tracing, pid)) {
        ptrace(PTRACE_CONT, pid, 0, 0);
    } else {
        join(tracing, pid, path);
    }
}

// ---- tracing -----------------------------------------------------------------------------------------------------

// The next stop of a thread. False: the child has ended, or nobody is left.
static bool next_stop(const struct tracing *tracing, siginfo_t *told)
{
    for (;;) {
        siginfo_t unused;
        told->si_pid = 0;
        if (waitid(P_ALL, 0, told, WEXITED | WSTOPPED | WNOWAIT | __WALL)) {
            if (errno != EINTR)
                return false;
            continue;
        }
        pid_t pid = told->si_pid;
        if (has_ended(told) && pid == tracing->child)
            return false;
        // A process that stopped may have ended by now. The next call reports that.
        bool is_stop = !has_ended(told);
        unused.si_pid = 0;
        told->si_pid = 0;
        waitid(P_PID, (id_t)pid, is_stop ? told : &unused, (is_stop ? WSTOPPED : WEXITED) | WNOHANG | __WALL);
        if (told->si_pid)
            return true;
    }
}

static void let_go_on(struct tracing *tracing, const siginfo_t *stop)
{
    int signal_number = stop->si_status & 0xff, event = stop->si_status >> 8;
    if (event == PTRACE_EVENT_EXEC)
        take_program(tracing, stop->si_pid);
    else if (event == PTRACE_EVENT_STOP && signal_number != SIGTRAP)
        ptrace(PTRACE_LISTEN, stop->si_pid, 0, 0); // it stays stopped until SIGCONT
    else
        ptrace(PTRACE_CONT, stop->si_pid, 0, (void *)(intptr_t)(event ? 0 : signal_number));
}

static void *follow(void *context)
{
    struct tracing *tracing = context;
    siginfo_t stop;
    if (!wait_until_stopped(tracing->child))
        return NULL;
    if (ptrace(PTRACE_SEIZE, tracing->child, 0, (void *)(uintptr_t)TRACED)) {
        const int problem = errno;
        // One that was killed meanwhile may not be traced, either.
        if (wait_until_stopped(tracing->child))
            tracing->failed =
                hs_error__set(tracing->error, problem, "this command may not trace its child (%s)", strerror(problem));
        return NULL;
    }
    kill(tracing->child, SIGCONT);
    while (next_stop(tracing, &stop))
        let_go_on(tracing, &stop);
    return NULL;
}

int hs_follow(const struct hs_follow_wish *wish, pid_t child, struct hs_error *error)
{
    struct tracing tracing = {.wish = wish, .error = error, .child = child, .passes = wish->passes_to != NULL};
    pthread_t thread;
    int problem = pthread_create(&thread, NULL, follow, &tracing);
    if (problem)
        tracing.failed = hs_error__set(error, problem, "no thread could be started: %s", strerror(problem));
    else
        pthread_join(thread, NULL);
    if (tracing.failed)
        kill(child, SIGKILL);
    return tracing.failed;
}
