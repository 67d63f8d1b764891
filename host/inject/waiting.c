// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/inject/waiting.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

enum { LONGEST_PAUSE_NS = 10 * 1000 * 1000 };

bool hs_inject_waiting__is_stop(int status)
{
    return WIFSTOPPED(status) && status >> 16 == PTRACE_EVENT_STOP;
}

char hs_inject_waiting__state(const struct hs_inject_target *target, pid_t tid)
{
    char line[512];
    bool found = hs_inject_target__thread_line(target, tid, "stat", line, sizeof line);
    const char *state = found ? strrchr(line, ')') : NULL;
    return state ? state[2] : 0;
}

bool hs_inject_waiting__is_ending(const struct hs_inject_target *target, pid_t tid)
{
    char state = hs_inject_waiting__state(target, tid);
    return !state || state == 'Z' || state == 'X';
}

bool hs_inject_waiting__next_of_thread(pid_t tid, int *status)
{
    pid_t from;
    do
        from = waitpid(tid, status, __WALL);
    while (from < 0 && errno == EINTR);
    return from > 0;
}

void hs_inject_waiting__pause(struct timespec *pause)
{
    nanosleep(pause, NULL);
    if (pause->tv_nsec < LONGEST_PAUSE_NS)
        pause->tv_nsec += pause->tv_nsec / 4;
}

// The end of a process's first thread is not told before that of the others.
static bool wait_for_first(const struct hs_inject_target *target, int *status)
{
    struct timespec pause = {0, HS_INJECT_SHORTEST_PAUSE_NS};
    for (;;) {
        pid_t from = waitpid(target->pid, status, __WALL | WNOHANG);
        if (from > 0)
            return true;
        if ((from < 0 && errno != EINTR) || hs_inject_waiting__is_ending(target, target->pid))
            return false;
        hs_inject_waiting__pause(&pause);
    }
}

bool hs_inject_waiting__has_ended(pid_t pid, int how)
{
    siginfo_t info = {.si_pid = 0};
    while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | how) && errno == EINTR)
        continue;
    return info.si_pid && (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED);
}

// No wait for a stop may take the end, which can come after it was seen that there is a stop.
bool hs_inject_waiting__next_of_child(pid_t pid, int *status)
{
    siginfo_t stop;
    do {
        stop = (siginfo_t){.si_pid = 0};
        if (hs_inject_waiting__has_ended(pid, WSTOPPED) ||
            (waitid(P_PID, (id_t)pid, &stop, WSTOPPED | WNOHANG | __WALL) && errno != EINTR))
            return false;
    } while (!stop.si_pid);
    *status = stop.si_status << 8 | 0x7f;
    return true;
}

bool hs_inject_waiting__next(const struct hs_inject_target *target, const struct hs_thread_stop *thread, int *status)
{
    if (target->is_starting)
        return hs_inject_waiting__next_of_child(target->pid, status);
    return thread->tid == target->pid ? wait_for_first(target, status)
                                      : hs_inject_waiting__next_of_thread(thread->tid, status);
}

bool hs_inject_waiting__stop(const struct hs_inject_target *target, struct hs_thread_stop *thread)
{
    int status;
    for (;;) {
        if (!hs_inject_waiting__next(target, thread, &status) || !WIFSTOPPED(status))
            return false;
        if (hs_inject_waiting__is_stop(status))
            break;
        ptrace(PTRACE_CONT, thread->tid, 0, (void *)(intptr_t)(status >> 16 ? 0 : WSTOPSIG(status)));
    }
    thread->is_stopped = true;
    thread->is_seen = false;
    return true;
}
