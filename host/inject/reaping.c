// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/inject/reaping.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

static const struct hs_inject_target *volatile seizing;
static volatile sig_atomic_t is_told; // of an end while nothing was being seized

// An execve does not wait until the end of the first thread was told.
static void take_ends(const struct hs_inject_target *target)
{
    siginfo_t unused;
    is_told = 0;
    for (size_t i = 0; i < target->thread_count; i++)
        if (target->threads[i].tid != target->pid)
            waitid(P_PID, (id_t)target->threads[i].tid, &unused, WEXITED | WNOHANG | __WALL);
}

static void take_told(int signal_number)
{
    const int kept = errno;
    const struct hs_inject_target *target = seizing;
    (void)signal_number;
    if (target)
        take_ends(target);
    else
        is_told = 1;
    errno = kept;
}

void hs_inject_reaping__begin(struct hs_inject_reaping *reaping)
{
    const struct sigaction action = {.sa_handler = take_told, .sa_flags = SA_RESTART};
    sigset_t told;
    is_told = 1; // earlier
    sigemptyset(&told);
    sigaddset(&told, SIGCHLD);
    sigaction(SIGCHLD, &action, &reaping->action);
    sigprocmask(SIG_UNBLOCK, &told, &reaping->blocked);
}

void hs_inject_reaping__end(const struct hs_inject_reaping *reaping)
{
    sigprocmask(SIG_SETMASK, &reaping->blocked, NULL);
    sigaction(SIGCHLD, &reaping->action, NULL);
}

int hs_inject_reaping__seize(const struct hs_inject_target *target, pid_t tid)
{
    seizing = target;
    if (is_told)
        take_ends(target);
    int failed = ptrace(PTRACE_SEIZE, tid, 0, (void *)(uintptr_t)PTRACE_O_TRACESYSGOOD) ? -errno : 0;
    seizing = NULL;
    return failed;
}
