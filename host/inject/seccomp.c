// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/inject/seccomp.h"

#include "host/inject/permission.h"
#include "host/inject/region.h"
#include "host/inject/stop.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef PTRACE_SECCOMP_GET_FILTER
#define PTRACE_SECCOMP_GET_FILTER 0x420c
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef PR_GET_TID_ADDRESS
#define PR_GET_TID_ADDRESS 40
#endif
#define HS_MADV_WIPEONFORK        18 // in newer headers only
#define HS_SECCOMP_RET_USER_NOTIF 0x7fc00000U
#define HS_SECCOMP_RET_LOG        0x7ffc0000U
#define HERE                      ((unsigned long)AT_FDCWD)
// Of the recorder's threads (runtime/hidden_thread.c).
#define THREAD_FLAGS (CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM)

// What stands for them on machines of 32 bits.
#ifdef __arm__
#include "arch/arm/kernel.h"
#undef SYS_fstat
#undef SYS_fchown
#undef SYS_geteuid
#undef SYS_getgid
#undef SYS_clock_gettime
#define SYS_mmap          SYS_mmap2
#define SYS_fstat         HS_KERNEL_FSTAT
#define SYS_newfstatat    HS_KERNEL_FSTATAT
#define SYS_fchown        HS_KERNEL_FCHOWN
#define SYS_geteuid       HS_KERNEL_GETEUID
#define SYS_getgid        HS_KERNEL_GETGID
#define SYS_clock_gettime HS_KERNEL_CLOCK_GETTIME
#endif

enum { MOST_FILTERS = 256, SCRATCH = BPF_MEMWORDS, ARGUMENTS = 4 };

// Without a needed one nothing works; the sampler calls more than the recorder, which does so with some variables only.
enum call_use { NEEDED, USED, OF_SAMPLER, ON_REQUEST };

// docs/calls.md. Filters ask for arguments, too: there are lines for those that are known beforehand.
static const struct {
    const char *name;
    int number;
    enum call_use use;
    unsigned long arguments[ARGUMENTS];
} calls[] = {
#define CALL(kind, name, ...)                                                                                          \
    {                                                                                                                  \
#name, SYS_##name, kind,                                                                                       \
        {                                                                                                              \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }
    CALL(NEEDED, mmap, 0, 0, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS),
    CALL(NEEDED, mmap, 0, 0, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS),
    CALL(NEEDED, mmap, 0, 0, PROT_READ | PROT_WRITE, MAP_SHARED),
    CALL(NEEDED, mmap, 0, 0, PROT_READ, MAP_PRIVATE),
    CALL(NEEDED, munmap, 0),
    CALL(USED, mremap, 0, 0, 0, MREMAP_MAYMOVE | MREMAP_FIXED),
    CALL(NEEDED, mprotect, 0, 0, PROT_READ | PROT_WRITE),
    CALL(NEEDED, clone, HS_REGION_THREAD_FLAGS),
    CALL(USED, clone, THREAD_FLAGS),
    CALL(USED, clone, THREAD_FLAGS | CLONE_FILES),
    CALL(NEEDED, exit, 0),
    CALL(NEEDED, futex, 0, FUTEX_WAIT_PRIVATE),
    CALL(NEEDED, futex, 0, FUTEX_WAKE_PRIVATE),
    CALL(NEEDED, openat, HERE, 0, O_RDONLY | O_CLOEXEC),
    CALL(NEEDED, openat, HERE, 0, O_RDWR | O_CREAT | O_CLOEXEC),
    CALL(NEEDED, pwritev, 0),
    CALL(NEEDED, rt_sigprocmask, 0),
    CALL(NEEDED, gettid, 0),
    CALL(NEEDED, getpid, 0),
    CALL(USED, tgkill, 0),
    CALL(USED, tkill, 0),
    CALL(USED, prctl, PR_GET_NAME),
    CALL(USED, prctl, PR_SET_NAME),
    CALL(USED, prctl, PR_GET_DUMPABLE),
    CALL(USED, prctl, PR_GET_NO_NEW_PRIVS),
    CALL(USED, prctl, PR_GET_TID_ADDRESS),
    CALL(USED, capget, 0),
    CALL(USED, clock_gettime, CLOCK_MONOTONIC),
    CALL(USED, read, 0),
    CALL(USED, pread64, 0),
    CALL(USED, lseek, 0, 0, SEEK_END),
    CALL(USED, fstat, 0),
    CALL(USED, newfstatat, HERE),
    CALL(USED, readlinkat, HERE),
    CALL(USED, close, 0),
    CALL(USED, madvise, 0, 0, MADV_DONTNEED),
    CALL(USED, madvise, 0, 0, MADV_HUGEPAGE),
    CALL(USED, madvise, 0, 0, HS_MADV_WIPEONFORK),
    CALL(USED, sched_yield, 0),
    CALL(USED, msync, 0, 0, MS_ASYNC),
    CALL(USED, pwrite64, 0),
    CALL(USED, fallocate, 0),
    CALL(USED, prlimit64, 0),
    CALL(USED, close_range, 0),
    CALL(USED, sched_getaffinity, 0),
    CALL(USED, wait4, 0, 0, WNOHANG | __WCLONE),
    CALL(USED, setsid, 0),
    CALL(USED, socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC),
    CALL(USED, bind, 0),
    CALL(USED, sendmsg, 0),
    CALL(USED, recvmsg, 0),
    CALL(USED, flock, 0, LOCK_EX | LOCK_NB),
    CALL(USED, ftruncate, 0),
    CALL(USED, fchmod, 0),
    CALL(USED, fchown, 0),
    CALL(USED, fcntl, 0, F_DUPFD_CLOEXEC),
    CALL(USED, fstatfs, 0),
    CALL(USED, write, 0),
    CALL(USED, process_vm_readv, 0),
    CALL(USED, getcwd, 0),
    CALL(USED, uname, 0),
    CALL(USED, getdents64, 0),
    CALL(USED, getuid, 0),
    CALL(USED, geteuid, 0),
    CALL(USED, getgid, 0),
    CALL(USED, getegid, 0),
    CALL(USED, getppid, 0),
    CALL(USED, getrusage, RUSAGE_SELF),
    CALL(USED, unlinkat, HERE),
    CALL(USED, renameat, HERE),
    CALL(USED, rt_sigpending, 0),
    CALL(USED, rt_sigtimedwait, 0),
    CALL(OF_SAMPLER, socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC),
    CALL(OF_SAMPLER, socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK),
    CALL(OF_SAMPLER, connect, 0),
    CALL(OF_SAMPLER, listen, 0),
    CALL(OF_SAMPLER, accept4, 0),
    CALL(OF_SAMPLER, getsockopt, 0, SOL_SOCKET),
    CALL(OF_SAMPLER, recvfrom, 0),
    CALL(OF_SAMPLER, sendto, 0),
    CALL(OF_SAMPLER, ppoll, 0),
    CALL(OF_SAMPLER, mkdirat, HERE),
    CALL(OF_SAMPLER, memfd_create, 0),
    CALL(OF_SAMPLER, getrandom, 0),
    CALL(ON_REQUEST, socket, AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC),
    CALL(ON_REQUEST, clone, CLONE_VM),
    CALL(ON_REQUEST, fcntl, 0, F_SETFD),
    CALL(ON_REQUEST, madvise, 0, 0, MADV_REMOVE),
    CALL(ON_REQUEST, setsockopt, 0),
    CALL(ON_REQUEST, shutdown, 0),
    CALL(ON_REQUEST, getpeername, 0),
    CALL(ON_REQUEST, getsockname, 0),
    CALL(ON_REQUEST, perf_event_open, 0),
    CALL(ON_REQUEST, ioctl, 0),
#undef CALL
};

enum { CALLS = sizeof calls / sizeof *calls };

// ---- one filter ----------------------------------------------------------------------------------------------------

struct machine {
    uint32_t a, x, memory[SCRATCH];
};

static uint32_t combine(uint16_t operation, uint32_t a, uint32_t b)
{
    switch (operation) {
    case BPF_ADD:
        return a + b;
    case BPF_SUB:
        return a - b;
    case BPF_MUL:
        return a * b;
    case BPF_DIV:
        return a / b;
    case BPF_AND:
        return a & b;
    case BPF_OR:
        return a | b;
    case BPF_XOR:
        return a ^ b;
    case BPF_LSH:
        return a << (b & 31);
    case BPF_RSH:
        return a >> (b & 31);
    default:
        return -a;
    }
}

static bool compare(uint16_t operation, uint32_t a, uint32_t b)
{
    switch (operation) {
    case BPF_JEQ:
        return a == b;
    case BPF_JGT:
        return a > b;
    case BPF_JGE:
        return a >= b;
    default:
        return a & b;
    }
}

// False: not an instruction that the kernel lets pass.
static bool load(struct machine *machine, const struct sock_filter *step, const struct seccomp_data *data)
{
    switch (step->code) {
    case BPF_LD | BPF_W | BPF_ABS:
        if (step->k > sizeof *data - sizeof machine->a)
            return false;
        memcpy(&machine->a, (const char *)data + step->k, sizeof machine->a);
        return true;
    case BPF_LD | BPF_W | BPF_LEN:
        machine->a = sizeof *data;
        return true;
    case BPF_LDX | BPF_W | BPF_LEN:
        machine->x = sizeof *data;
        return true;
    case BPF_LD | BPF_IMM:
        machine->a = step->k;
        return true;
    case BPF_LDX | BPF_IMM:
        machine->x = step->k;
        return true;
    case BPF_LD | BPF_MEM:
        machine->a = machine->memory[step->k % SCRATCH];
        return true;
    case BPF_LDX | BPF_MEM:
        machine->x = machine->memory[step->k % SCRATCH];
        return true;
    case BPF_ST:
        machine->memory[step->k % SCRATCH] = machine->a;
        return true;
    case BPF_STX:
        machine->memory[step->k % SCRATCH] = machine->x;
        return true;
    case BPF_MISC | BPF_TAX:
        machine->x = machine->a;
        return true;
    case BPF_MISC | BPF_TXA:
        machine->a = machine->x;
        return true;
    default:
        return false;
    }
}

static bool divides_by_zero(const struct sock_filter *step, uint32_t operand)
{
    return BPF_CLASS(step->code) == BPF_ALU && BPF_OP(step->code) == BPF_DIV && !operand;
}

// The answer of one filter; the kernel has checked the program, and what is wrong here is answered by a kill.
static uint32_t answer_of(const struct sock_filter *filter, size_t length, const struct seccomp_data *data)
{
    struct machine machine = {0};
    for (size_t at = 0; at < length; at++) {
        const struct sock_filter *step = &filter[at];
        uint32_t operand = BPF_SRC(step->code) == BPF_X ? machine.x : step->k;
        if (BPF_CLASS(step->code) == BPF_RET)
            return BPF_RVAL(step->code) == BPF_A ? machine.a : step->k;
        if (divides_by_zero(step, operand))
            break;
        if (step->code == (BPF_JMP | BPF_JA))
            at += step->k;
        else if (BPF_CLASS(step->code) == BPF_JMP)
            at += compare(BPF_OP(step->code), machine.a, operand) ? step->jt : step->jf;
        else if (BPF_CLASS(step->code) == BPF_ALU)
            machine.a = combine(BPF_OP(step->code), machine.a, operand);
        else if (!load(&machine, step, data))
            break;
    }
    return SECCOMP_RET_KILL_PROCESS;
}

// ---- a target's filters --------------------------------------------------------------------------------------------

// The strictest answer holds: actions are ordered as signed numbers.
static int32_t action(uint32_t answer)
{
    return (int32_t)(answer & SECCOMP_RET_ACTION_FULL);
}

// So does what the kernel does not know.
static bool ends(uint32_t answer)
{
    switch (answer & SECCOMP_RET_ACTION_FULL) {
    case SECCOMP_RET_ERRNO:
    case HS_SECCOMP_RET_USER_NOTIF:
    case SECCOMP_RET_TRACE:
    case HS_SECCOMP_RET_LOG:
    case SECCOMP_RET_ALLOW:
        return false;
    default:
        return true;
    }
}

static bool forbids(uint32_t answer)
{
    return action(answer) == action(SECCOMP_RET_ERRNO) || action(answer) == action(SECCOMP_RET_TRACE);
}

// Adds one filter's answers. 1: there was one; 0: there is none of that number; or -errno.
static int ask_filter(const struct hs_inject_target *target, unsigned index, uint32_t *answers)
{
    const pid_t tid = target->threads[0].tid;
    void *number = (void *)(uintptr_t)index;
    long length = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, number, NULL);
    if (length < 0)
        return errno == ENOENT ? 0 : -errno;
    struct sock_filter *filter = calloc((size_t)length + 1, sizeof *filter);
    if (!filter || ptrace(PTRACE_SECCOMP_GET_FILTER, tid, number, filter) < 0) {
        const int problem = errno;
        free(filter);
        return -problem;
    }
    for (size_t i = 0; i < CALLS; i++) {
        struct seccomp_data data = {.nr = calls[i].number, .arch = target->arch->audit};
        for (size_t k = 0; k < ARGUMENTS; k++)
            data.args[k] = calls[i].arguments[k];
        uint32_t answer = answer_of(filter, (size_t)length, &data);
        if (action(answer) < action(answers[i]))
            answers[i] = answer;
    }
    free(filter);
    return 1;
}

// Of all filters of the stopped thread. -ESRCH: it has ended.
static int ask_all(const struct hs_inject_target *target, uint32_t *answers)
{
    int result = 0;
    for (unsigned index = 0; index < MOST_FILTERS; index++) {
        result = ask_filter(target, index, answers);
        if (result <= 0)
            break;
    }
    return result < 0 ? result : 0;
}

static bool begins(const char *text, const char *start)
{
    return !strncmp(text, start, strlen(start));
}

// The recorder takes both prefixes.
static const char *without_prefix(const char *variable)
{
    return variable + (begins(variable, "HEAPSONDE_")         ? strlen("HEAPSONDE_")
                       : begins(variable, "MEMORY_PROFILER_") ? strlen("MEMORY_PROFILER_")
                                                              : 0);
}

// What the recorder is asked for beside its trace.
static bool has_requests(const struct hs_inject_request *request)
{
    static const char *const names[] = {"CONNECT=", "ENABLE_SERVER=", "ENABLE_BROADCAST=", "EVENTS="};
    for (unsigned i = 0; i < request->variable_count; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            if (begins(without_prefix(request->variables[i]), names[k]))
                return true;
    return false;
}

static bool is_called(enum call_use use, const struct hs_inject_request *request, bool requests)
{
    return use == NEEDED || use == USED || requests || (use == OF_SAMPLER && request->samples);
}

static int judge(const struct hs_inject_target *target, const uint32_t *answers,
                 const struct hs_inject_request *request, struct hs_error *error)
{
    const bool requests = has_requests(request);
    for (size_t i = 0; i < CALLS; i++) {
        if (!is_called(calls[i].use, request, requests))
            continue;
        if (ends(answers[i]))
            return hs_error__set(error, EPERM,
                                 "process %d has a filter of system calls (seccomp) that would end it for %s, which "
                                 "the recorder calls",
                                 (int)target->pid, calls[i].name);
        if (calls[i].use == NEEDED && forbids(answers[i]))
            return hs_error__set(error, EPERM,
                                 "process %d has a filter of system calls (seccomp) that forbids %s, which the "
                                 "recorder needs",
                                 (int)target->pid, calls[i].name);
    }
    return 0;
}

static int mode_of(pid_t tid)
{
    char mode[16] = "0";
    hs_inject_target__status(tid, "Seccomp", mode, sizeof mode);
    return atoi(mode);
}

// The kernel shows filters to no process that has one itself.
static int cannot_read(const struct hs_inject_target *target, int failed, struct hs_error *error)
{
    if (failed == -EACCES && mode_of(getpid()))
        return hs_error__set(error, EACCES,
                             "process %d has a filter of system calls (seccomp) that cannot be read, because this "
                             "command has one, too: run this outside of the container or service; with --force the "
                             "process may end",
                             (int)target->pid);
    return hs_error__set(error, -failed,
                         "process %d has a filter of system calls (seccomp) that cannot be read (%s): run this as "
                         "root with the capability CAP_SYS_ADMIN; with --force the process may end",
                         (int)target->pid, strerror(-failed));
}

static int check_thread(struct hs_inject_target *target, pid_t tid, const struct hs_inject_request *request,
                        struct hs_error *error)
{
    uint32_t answers[CALLS];
    const int mode = mode_of(tid);
    if (mode == SECCOMP_MODE_STRICT)
        return hs_error__set(error, EPERM,
                             "process %d is in seccomp's strict mode: a system call of the recorder would end it",
                             (int)target->pid);
    if (mode == SECCOMP_MODE_DISABLED)
        return 0;
    for (size_t i = 0; i < CALLS; i++)
        answers[i] = SECCOMP_RET_ALLOW;
    int failed = hs_inject_stop__thread(target, tid, error);
    if (failed)
        return failed;
    failed = target->thread_count ? ask_all(target, answers) : 0;
    hs_inject_target__let_go(target);
    if (failed == -ESRCH) // that thread has ended
        return 0;
    if (failed)
        return request->force ? 0 : cannot_read(target, failed, error);
    return judge(target, answers, request, error);
}

// Each thread has filters of its own, and calls the recorder.
int hs_seccomp__check(struct hs_inject_target *target, const struct hs_inject_request *request, struct hs_error *error)
{
    char path[64];
    int failed = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)target->pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && !failed && (entry = readdir(folder));) {
        const pid_t tid = (pid_t)atoi(entry->d_name);
        if (tid > 0)
            failed = check_thread(target, tid, request, error);
    }
    if (folder)
        closedir(folder);
    return failed;
}
