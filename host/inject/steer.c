// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/inject/steer.h"

#include "host/inject/thread.h"
#include "host/inject/waiting.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#ifndef PTRACE_GETSIGMASK
#define PTRACE_GETSIGMASK 0x420a
#define PTRACE_SETSIGMASK 0x420b
#endif

enum { KERNEL_MASK = 8 * HS_INJECT_MASK, MOST_SECONDS = 10 };

// ---- system calls --------------------------------------------------------------------------------------------------

// To the next stop at a system call. A signal that comes first is delivered: SIGSTOP cannot be blocked. False: the
// thread has ended.
static bool go_to_call(const struct hs_inject_target *target, struct hs_thread_stop *thread)
{
    int status, signal_number = 0;
    do {
        if (ptrace(PTRACE_SYSCALL, thread->tid, 0, (void *)(intptr_t)signal_number) ||
            !hs_inject_waiting__next(target, thread, &status) || !WIFSTOPPED(status))
            return false;
        signal_number = status >> 16 ? 0 : WSTOPSIG(status);
    } while (signal_number != (SIGTRAP | 0x80));
    return true;
}

// From the end of a system call the kernel would not begin again the one that the stop has interrupted, so that the
// thread goes to a stop of the first kind. It executes no instruction on the way.
static bool leave_call(struct hs_inject_target *target, struct hs_thread_stop *thread)
{
    thread->is_stopped = false;
    return !ptrace(PTRACE_INTERRUPT, thread->tid, 0, 0) && !ptrace(PTRACE_CONT, thread->tid, 0, 0) &&
           hs_inject_waiting__stop(target, thread);
}

static bool carry_out(struct hs_inject_target *target, struct hs_thread_stop *thread, struct hs_borrowed *borrowed,
                      const struct hs_system_call *call, long *result)
{
    const struct hs_inject_arch *arch = target->arch;
    uint64_t all[HS_INJECT_MASK];
    memset(all, 0xff, sizeof all);
    // In this order a kill between two of them leaves the mask as it was.
    if (hs_inject_thread__call(arch, borrowed, call) ||
        ptrace(PTRACE_SETSIGMASK, thread->tid, (void *)KERNEL_MASK, all))
        return false;
    if (!go_to_call(target, thread) || !go_to_call(target, thread))
        return false;
    *result = hs_inject_thread__result(arch, borrowed);
    return leave_call(target, thread) && !ptrace(PTRACE_SETSIGMASK, thread->tid, (void *)KERNEL_MASK, borrowed->mask) &&
           !hs_inject_thread__restore(arch, borrowed);
}

int hs_inject_steer__block(const struct hs_inject_target *target, uint64_t signals, struct hs_error *error)
{
    const pid_t tid = target->threads[0].tid;
    uint64_t mask[HS_INJECT_MASK] = {0};
    int failed = ptrace(PTRACE_GETSIGMASK, tid, (void *)KERNEL_MASK, mask) != 0;
    mask[0] |= signals;
    if (failed || ptrace(PTRACE_SETSIGMASK, tid, (void *)KERNEL_MASK, mask))
        return hs_error__set(error, ESRCH, "thread %d has ended", (int)tid);
    return 0;
}

int hs_inject_steer__call(struct hs_inject_target *target, uint64_t stub, uint64_t done,
                          const struct hs_system_call *call, long *result, struct hs_error *error)
{
    struct hs_thread_stop *thread = &target->threads[0];
    struct hs_borrowed borrowed = {.tid = thread->tid, .stub = stub};
    uint8_t code[HS_INJECT_CODE];
    if (hs_inject_thread__save(target->arch, &borrowed) ||
        ptrace(PTRACE_GETSIGMASK, thread->tid, (void *)KERNEL_MASK, borrowed.mask))
        return hs_error__set(error, ESRCH, "thread %d has ended", (int)thread->tid);
    size_t length = target->arch->stub(code, &borrowed, done);
    int failed = length ? hs_inject_target__write(target, stub, code, length) : -E2BIG;
    if (failed)
        return hs_inject_target__not_written(target, failed, error);
    if (carry_out(target, thread, &borrowed, call, result))
        return 0;
    if (target->is_starting)
        hs_inject_target__drop_thread(target, 0);
    else
        hs_inject_target__let_thread_go(target, 0);
    return hs_error__set(error, ESRCH, "thread %d has ended", (int)thread->tid);
}

// ---- starting ------------------------------------------------------------------------------------------------------

// To the end of execve. 1: there; 0: the child has ended.
static int go_to_program(pid_t pid)
{
    int status;
    for (;;) {
        if (!hs_inject_waiting__next_of_child(pid, &status))
            return 0;
        if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8))
            return 1;
        bool is_event = status >> 16 || WSTOPSIG(status) == SIGCONT;
        if (ptrace(PTRACE_CONT, pid, 0, (void *)(intptr_t)(is_event ? 0 : WSTOPSIG(status))))
            return 0;
    }
}

int hs_inject_steer__hold(struct hs_inject_target *target, pid_t pid, bool *executed, struct hs_error *error)
{
    *executed = false;
    int failed = hs_inject_target__open(target, pid, error);
    target->threads = failed ? NULL : malloc(sizeof *target->threads);
    if (!failed && !target->threads)
        failed = hs_error__set(error, ENOMEM, "out of memory");
    if (failed)
        return failed;
    target->threads[0] = (struct hs_thread_stop){.tid = pid};
    target->thread_count = target->thread_room = 1;
    target->is_starting = true;
    // The first system call from here would be the end of execve.
    *executed = leave_call(target, &target->threads[0]);
    return 0;
}

static int seize_child(pid_t pid, struct hs_error *error)
{
    const uintptr_t options = PTRACE_O_TRACEEXEC | PTRACE_O_TRACEFORK | PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD;
    if (!ptrace(PTRACE_SEIZE, pid, 0, (void *)options))
        return 0;
    const int problem = errno;
    // One that was killed may not be traced, either.
    if (hs_inject_waiting__has_ended(pid, WNOHANG))
        return hs_error__set(error, ESRCH, "process %d has ended", (int)pid);
    return hs_error__set(error, problem,
                         "this command may not trace its child (%s); programs without a dynamic linker, and allocators "
                         "within programs, can only be recorded that way",
                         strerror(problem));
}

int hs_inject_steer__start(struct hs_inject_target *target, pid_t pid, bool *executed, struct hs_error *error)
{
    int status;
    *executed = false;
    if (!hs_inject_waiting__next_of_child(pid, &status))
        return 0;
    int failed = seize_child(pid, error);
    if (failed)
        return failed;
    kill(pid, SIGCONT);
    if (!go_to_program(pid))
        return 0;
    failed = hs_inject_steer__hold(target, pid, executed, error);
    if (failed)
        ptrace(PTRACE_DETACH, pid, 0, 0);
    return failed;
}

struct trap {
    uint64_t at;
    uint8_t before[HS_INJECT_PATCH];
};

static bool is_event(int status, int event)
{
    return status >> 8 == (SIGTRAP | event << 8);
}

// A library may fork while it is initialised. The child has a copy of the trap, and nobody else to take it out.
static void let_fork_go(const struct hs_inject_target *target, pid_t tid, const struct trap *trap)
{
    unsigned long child;
    int status;
    if (ptrace(PTRACE_GETEVENTMSG, tid, 0, &child) || !hs_inject_waiting__next_of_thread((pid_t)child, &status) ||
        !WIFSTOPPED(status))
        return;
    struct hs_inject_target forked;
    if (!hs_inject_target__open(&forked, (pid_t)child, NULL))
        hs_inject_target__write(&forked, trap->at, trap->before, target->arch->trap_length);
    hs_inject_target__close(&forked);
    ptrace(PTRACE_DETACH, (pid_t)child, 0, 0);
}

static bool is_past(const struct timespec *time)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec > time->tv_sec || (now.tv_sec == time->tv_sec && now.tv_nsec >= time->tv_nsec);
}

// False: nothing is told of a child in this time.
static bool is_told_until(pid_t pid, const struct timespec *end)
{
    struct timespec pause = {0, HS_INJECT_SHORTEST_PAUSE_NS};
    for (;;) {
        siginfo_t info = {.si_pid = 0};
        if (waitid(P_PID, (id_t)pid, &info, WEXITED | WSTOPPED | WNOWAIT | WNOHANG | __WALL) || info.si_pid)
            return true;
        if (is_past(end))
            return false;
        hs_inject_waiting__pause(&pause);
    }
}

static bool is_at(const struct hs_inject_target *target, pid_t tid, const struct trap *trap)
{
    uint64_t pc = 0, sp, pointer;
    return !hs_inject_thread__look(target->arch, tid, &pc, &sp, &pointer) && pc == trap->at + target->arch->trap_passed;
}

// 1: there. 0: the process has ended, or has executed another program. -ETIMEDOUT: it was stopped on its way. A stop
// that it is asked for comes before the signal of a trap that it has reached.
static int go_to_trap(struct hs_inject_target *target, struct hs_thread_stop *thread, const struct trap *trap)
{
    int status, signal_number = 0;
    bool is_late = false;
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += MOST_SECONDS;
    for (;;) {
        if (ptrace(PTRACE_CONT, thread->tid, 0, (void *)(intptr_t)signal_number))
            return 0;
        if (target->is_joined && !is_late && !is_told_until(thread->tid, &end))
            is_late = !ptrace(PTRACE_INTERRUPT, thread->tid, 0, 0);
        if (!hs_inject_waiting__next(target, thread, &status) || !WIFSTOPPED(status) ||
            is_event(status, PTRACE_EVENT_EXEC))
            return 0;
        if (is_event(status, PTRACE_EVENT_FORK))
            let_fork_go(target, thread->tid, trap);
        signal_number = status >> 16 ? 0 : WSTOPSIG(status);
        if (signal_number == SIGTRAP && is_at(target, thread->tid, trap))
            return 1;
        if (is_late && hs_inject_waiting__is_stop(status) && !is_at(target, thread->tid, trap))
            return -ETIMEDOUT;
    }
}

int hs_inject_steer__run_to(struct hs_inject_target *target, uint64_t address, struct hs_error *error)
{
    const struct hs_inject_arch *arch = target->arch;
    struct hs_thread_stop *thread = &target->threads[0];
    struct trap trap = {.at = address & ~arch->mode};
    int failed = hs_inject_target__read(target, trap.at, trap.before, arch->trap_length);
    if (!failed)
        failed = hs_inject_target__write(target, trap.at, address & arch->mode ? arch->trap_of_mode : arch->trap,
                                         arch->trap_length);
    if (failed)
        return hs_inject_target__not_written(target, failed, error);
    int reached = go_to_trap(target, thread, &trap);
    if (!reached || hs_inject_target__write(target, trap.at, trap.before, arch->trap_length) ||
        (reached > 0 && (hs_inject_thread__go_to(arch, thread->tid, address) || !leave_call(target, thread))))
        return hs_error__set(error, ESRCH, "process %d has ended", (int)target->pid);
    if (reached < 0)
        return hs_error__set(error, ETIMEDOUT,
                             "its libraries were not loaded within %d s; other programs could not be followed while it "
                             "waited, perhaps for one of them",
                             MOST_SECONDS);
    return 0;
}

int hs_inject_steer__step(struct hs_inject_target *target, struct hs_error *error)
{
    struct hs_thread_stop *thread = &target->threads[0];
    int status, signal_number = 0;
    do {
        const bool has_failed = ptrace(PTRACE_SINGLESTEP, thread->tid, 0, (void *)(intptr_t)signal_number);
        if (has_failed && errno != ESRCH)
            return hs_error__set(error, ENOTSUP, "this machine's kernel cannot single-step a process");
        if (has_failed || !hs_inject_waiting__next(target, thread, &status) || !WIFSTOPPED(status))
            return hs_error__set(error, ESRCH, "process %d has ended", (int)target->pid);
        signal_number = status >> 16 ? 0 : WSTOPSIG(status);
    } while (signal_number != SIGTRAP);
    return 0;
}
