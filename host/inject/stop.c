// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/inject/stop.h"

#include "host/base/clock.h"
#include "host/inject/permission.h"
#include "host/inject/reaping.h"
#include "host/inject/thread.h"
#include "host/inject/waiting.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_PAUSE_NS = 50 * 1000, WAITING_LOOKS = 24, WAITING_SECONDS = 30, MOST_TRIES = 100 };

// ---- all threads ---------------------------------------------------------------------------------------------------

// The folder lists threads in the same order again.
static bool is_seized(const struct hs_inject_target *target, pid_t tid, size_t listed)
{
    if (listed < target->thread_count && target->threads[listed].tid == tid)
        return true;
    for (size_t i = 0; i < target->thread_count; i++)
        if (target->threads[i].tid == tid)
            return true;
    return false;
}

static int seize(struct hs_inject_target *target, pid_t tid)
{
    if (target->thread_count == target->thread_room) {
        size_t room = target->thread_room ? target->thread_room * 2 : 64;
        struct hs_thread_stop *threads = realloc(target->threads, room * sizeof *threads);
        if (!threads)
            return -ENOMEM;
        target->threads = threads;
        target->thread_room = room;
    }
    int failed = hs_inject_reaping__seize(target, tid);
    if (!failed)
        target->threads[target->thread_count++] = (struct hs_thread_stop){.tid = tid};
    return failed;
}

// Of a thread that could not be seized. 0: because it ends.
static int explain(const struct hs_inject_target *target, pid_t tid, int failed, struct hs_error *error)
{
    if (failed == -ENOMEM)
        return hs_error__set(error, ENOMEM, "out of memory");
    if (hs_inject_waiting__is_ending(target, tid))
        return 0;
    if (hs_permission__tracer_of(tid) == getpid()) // it was another thread of the program that was here before
        return hs_error__set(error, ESRCH, "process %d has executed another program", (int)target->pid);
    int traced = hs_permission__check_thread(target->pid, tid, error);
    return traced ? traced
                  : hs_error__set(error, -failed, "thread %d cannot be stopped: %s", (int)tid, strerror(-failed));
}

// 1: it was seized. 0: it ends. Meanwhile an execve can put another thread in its place, which may be seized.
static int take(struct hs_inject_target *target, pid_t tid, struct hs_error *error)
{
    for (int tries = 1;; tries++) {
        const int failed = seize(target, tid);
        const int explained = failed ? explain(target, tid, failed, error) : 1;
        if (explained != -EPERM || tries == MOST_TRIES)
            return explained;
    }
}

// Returns the number of threads that were seized now.
static int seize_all(struct hs_inject_target *target, struct hs_error *error)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)target->pid);
    DIR *folder = opendir(path);
    if (!folder)
        return hs_error__set(error, ESRCH, "process %d has ended", (int)target->pid);
    int added = 0;
    size_t listed = 0;
    struct hs_inject_reaping reaping;
    hs_inject_reaping__begin(&reaping);
    for (struct dirent *entry; (entry = readdir(folder));) {
        pid_t tid = (pid_t)atoi(entry->d_name);
        if (tid <= 0 || is_seized(target, tid, listed++))
            continue;
        int taken = take(target, tid, error);
        added += taken;
        if (taken < 0) {
            added = taken;
            break;
        }
    }
    hs_inject_reaping__end(&reaping);
    closedir(folder);
    return added;
}

// Whether a wait for its stop ends soon. Not that of a thread that waits in the kernel: for a child of vfork, or a
// disk. It is asked again now and then, since the kernel can lose what it was asked during an execve.
static bool will_stop(const struct hs_inject_target *target, pid_t tid)
{
    const struct timespec pause = {0, LOOK_PAUSE_NS};
    for (unsigned looks = 0, all = 1; looks < WAITING_LOOKS; all++) {
        siginfo_t info = {.si_pid = 0};
        if (waitid(P_PID, (id_t)tid, &info, WEXITED | WSTOPPED | WNOWAIT | WNOHANG | __WALL) || info.si_pid)
            return true;
        char state = hs_inject_waiting__state(target, tid);
        if (!state || state == 'Z' || state == 'X')
            return true;
        looks = state == 'D' ? looks + 1 : 0;
        if (all % WAITING_LOOKS == 0)
            ptrace(PTRACE_INTERRUPT, tid, 0, 0);
        nanosleep(&pause, NULL);
    }
    return false;
}

// Waits for the last one first: most others have stopped then, and need no wait each.
static void interrupt_all(struct hs_inject_target *target)
{
    for (size_t i = 0; i < target->thread_count; i++)
        if (!target->threads[i].is_stopped)
            ptrace(PTRACE_INTERRUPT, target->threads[i].tid, 0, 0);
    for (size_t i = target->thread_count; i-- > 0;)
        if (!target->threads[i].is_stopped && will_stop(target, target->threads[i].tid) &&
            !hs_inject_waiting__stop(target, &target->threads[i]))
            hs_inject_target__drop_thread(target, i);
}

static bool is_one_waiting(const struct hs_inject_target *target)
{
    for (size_t i = 0; i < target->thread_count; i++)
        if (!target->threads[i].is_stopped)
            return true;
    return false;
}

// The others go on until threads that wait in the kernel do so no more. The last of these is stopped then.
static int outwait(struct hs_inject_target *target, struct hs_error *error)
{
    const uint64_t begun = hs_clock__now();
    for (size_t i = target->thread_count; i-- > 0;)
        if (target->threads[i].is_stopped)
            hs_inject_target__let_thread_go(target, i);
    while (is_one_waiting(target) && hs_clock__now() - begun < WAITING_SECONDS * 1000000000ull)
        for (size_t i = target->thread_count; i-- > 0;) {
            if (!will_stop(target, target->threads[i].tid))
                continue;
            if (!hs_inject_waiting__stop(target, &target->threads[i]))
                hs_inject_target__drop_thread(target, i);
            else if (target->thread_count > 1)
                hs_inject_target__let_thread_go(target, i);
        }
    if (!is_one_waiting(target))
        return 0;
    return hs_error__set(error, EBUSY, "thread %d waits in the kernel and cannot be stopped; try again later",
                         (int)target->threads[0].tid);
}

// Those that have been seized are stopped afterwards; of threads of which one waited in the kernel, at least one is.
static int stop_seized(struct hs_inject_target *target, bool *waited, struct hs_error *error)
{
    interrupt_all(target);
    *waited = is_one_waiting(target);
    return *waited ? outwait(target, error) : 0;
}

int hs_inject_stop__all(struct hs_inject_target *target, struct hs_error *error)
{
    int added, failed = 0;
    target->stopped_since = hs_clock__now();
    if (target->is_starting)
        return 0;
    hs_inject_target__hurry(true);
    for (bool is_first = true; !failed && (added = seize_all(target, error)) > 0;) {
        if (is_first)
            target->stopped_since = hs_clock__now();
        failed = stop_seized(target, &is_first, error);
    }
    if (failed || added < 0)
        return failed ? failed : added;
    return target->thread_count ? 0 : hs_error__set(error, ESRCH, "process %d has ended", (int)target->pid);
}

// ---- one thread ----------------------------------------------------------------------------------------------------

// Where it waits for a signal, a restart could be noticed if this process were killed at that moment.
static bool waits_for_signal(const struct hs_inject_target *target, pid_t tid)
{
    static const char *const places[] = {"do_sigtimedwait", "sigsuspend", "sys_pause", "do_pause"};
    char place[64];
    bool found = hs_inject_target__thread_line(target, tid, "wchan", place, sizeof place);
    for (size_t i = 0; found && i < sizeof places / sizeof *places; i++)
        if (strstr(place, places[i]))
            return true;
    return false;
}

// Whether it is in a call that would wait for its whole time again.
static bool waits_anew(const struct hs_inject_target *target, pid_t tid)
{
    char line[512];
    struct hs_system_call call;
    return target->arch->waits_anew && hs_inject_target__thread_line(target, tid, "syscall", line, sizeof line) &&
           sscanf(line, "%ld %lx %lx %lx %lx %lx %lx", &call.number, (unsigned long *)&call.arguments[0],
                  (unsigned long *)&call.arguments[1], (unsigned long *)&call.arguments[2],
                  (unsigned long *)&call.arguments[3], (unsigned long *)&call.arguments[4],
                  (unsigned long *)&call.arguments[5]) == 7 &&
           target->arch->waits_anew(&call);
}

static pid_t choose_thread(const struct hs_inject_target *target)
{
    char path[64];
    pid_t chosen = target->pid;
    bool is_second_choice = false;
    snprintf(path, sizeof path, "/proc/%d/task", (int)target->pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        pid_t tid = (pid_t)atoi(entry->d_name);
        if (tid <= 0 || hs_inject_waiting__is_ending(target, tid) || waits_for_signal(target, tid))
            continue;
        if (hs_inject_waiting__state(target, tid) != 'D' && !waits_anew(target, tid)) {
            chosen = tid;
            break;
        }
        chosen = is_second_choice ? chosen : tid;
        is_second_choice = true;
    }
    if (folder)
        closedir(folder);
    return chosen;
}

int hs_inject_stop__thread(struct hs_inject_target *target, pid_t tid, struct hs_error *error)
{
    bool waited;
    if (target->is_starting)
        return 0;
    hs_inject_target__hurry(true);
    int failed = take(target, tid, error);
    return failed > 0 ? stop_seized(target, &waited, error) : failed;
}

int hs_inject_stop__one(struct hs_inject_target *target, struct hs_error *error)
{
    bool is_unfit = false;
    if (target->is_starting)
        return 0;
    for (int tries = 0; tries < MOST_TRIES; tries++) {
        pid_t tid = choose_thread(target);
        int failed = hs_inject_stop__thread(target, tid, error);
        if (failed)
            return failed;
        is_unfit = target->thread_count && hs_inject_thread__is_unfit(target->arch, tid);
        if (target->thread_count && !is_unfit)
            return 0;
        hs_inject_target__let_go(target);
    }
    return is_unfit ? hs_error__set(error, EBUSY, "no thread of process %d is where it may be interrupted; try again",
                                    (int)target->pid)
                    : hs_error__set(error, ESRCH, "process %d has ended", (int)target->pid);
}

// ---- where it is ---------------------------------------------------------------------------------------------------

bool hs_inject_stop__see(const struct hs_inject_target *target, struct hs_thread_stop *thread)
{
    if (!thread->is_seen)
        thread->is_seen =
            !hs_inject_thread__look(target->arch, thread->tid, &thread->pc, &thread->sp, &thread->pointer);
    // MIPS keeps the pointer of the program that executed this one.
    if (target->is_before_libc)
        thread->pointer = 0;
    return thread->is_seen;
}
