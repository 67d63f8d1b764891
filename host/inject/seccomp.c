// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/inject/seccomp.h"

#include "host/inject/stop.h"

#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#ifndef PTRACE_SECCOMP_GET_FILTER
#define PTRACE_SECCOMP_GET_FILTER 0x420c
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

// What stands for them on machines of 32 bits.
#ifdef __arm__
#include "arch/arm/kernel.h"
#undef SYS_fstat
#undef SYS_fchown
#undef SYS_geteuid
#undef SYS_getgid
#define SYS_mmap       SYS_mmap2
#define SYS_fstat      HS_KERNEL_FSTAT
#define SYS_newfstatat HS_KERNEL_FSTATAT
#define SYS_fchown     HS_KERNEL_FCHOWN
#define SYS_geteuid    HS_KERNEL_GETEUID
#define SYS_getgid     HS_KERNEL_GETGID
#endif

enum { MOST_FILTERS = 256, SCRATCH = BPF_MEMWORDS };

// docs/calls.md. Without the first ones nothing works.
static const struct {
    const char *name;
    int number;
    bool is_needed, is_samplers;
} calls[] = {
#define NEEDED(name)                                                                                                   \
    {                                                                                                                  \
#name, SYS_##name, true, false                                                                                 \
    }
#define USED(name)                                                                                                     \
    {                                                                                                                  \
#name, SYS_##name, false, false                                                                                \
    }
#define OF_SAMPLER(name)                                                                                               \
    {                                                                                                                  \
#name, SYS_##name, false, true                                                                                 \
    }
    NEEDED(mmap),
    NEEDED(munmap),
    NEEDED(mprotect),
    NEEDED(clone),
    NEEDED(exit),
    NEEDED(futex),
    NEEDED(openat),
    NEEDED(pwritev),
    NEEDED(rt_sigprocmask),
    NEEDED(gettid),
    NEEDED(getpid),
    USED(tgkill),
    USED(tkill),
    USED(prctl),
    USED(read),
    USED(pread64),
    USED(lseek),
    USED(fstat),
    USED(newfstatat),
    USED(readlinkat),
    USED(close),
    USED(madvise),
    USED(sched_yield),
    USED(msync),
    USED(pwrite64),
    USED(fallocate),
    USED(prlimit64),
    USED(close_range),
    USED(sched_getaffinity),
    USED(wait4),
    USED(setsid),
    USED(socket),
    USED(bind),
    USED(sendmsg),
    USED(recvmsg),
    USED(flock),
    USED(ftruncate),
    USED(fchmod),
    USED(fchown),
    USED(fcntl),
    USED(fstatfs),
    USED(write),
    USED(process_vm_readv),
    USED(getcwd),
    USED(uname),
    USED(getdents64),
    USED(getuid),
    USED(geteuid),
    USED(getgid),
    USED(getegid),
    USED(getppid),
    USED(unlinkat),
    USED(renameat),
    USED(rt_sigpending),
    USED(rt_sigtimedwait),
    OF_SAMPLER(connect),
    OF_SAMPLER(listen),
    OF_SAMPLER(accept4),
    OF_SAMPLER(getsockopt),
    OF_SAMPLER(recvfrom),
    OF_SAMPLER(sendto),
    OF_SAMPLER(ppoll),
    OF_SAMPLER(mkdirat),
    OF_SAMPLER(memfd_create),
    OF_SAMPLER(getrandom),
#undef OF_SAMPLER
#undef NEEDED
#undef USED
};

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
        return b ? a / b : 0;
    case BPF_AND:
        return a & b;
    case BPF_OR:
        return a | b;
    case BPF_XOR:
        return a ^ b;
    case BPF_LSH:
        return b < 32 ? a << b : 0;
    case BPF_RSH:
        return b < 32 ? a >> b : 0;
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

// The answer of one filter; the kernel has checked the program, and what is wrong here is answered by a kill.
static uint32_t answer_of(const struct sock_filter *filter, size_t length, const struct seccomp_data *data)
{
    struct machine machine = {0};
    for (size_t at = 0; at < length; at++) {
        const struct sock_filter *step = &filter[at];
        uint32_t operand = BPF_SRC(step->code) == BPF_X ? machine.x : step->k;
        if (BPF_CLASS(step->code) == BPF_RET)
            return BPF_RVAL(step->code) == BPF_A ? machine.a : step->k;
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

static bool ends(uint32_t answer)
{
    return action(answer) <= action(SECCOMP_RET_TRAP);
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
    if (!filter || ptrace(PTRACE_SECCOMP_GET_FILTER, tid, number, filter) != length) {
        free(filter);
        return -ENOMEM;
    }
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const struct seccomp_data data = {.nr = calls[i].number, .arch = target->arch->audit};
        uint32_t answer = answer_of(filter, (size_t)length, &data);
        if (action(answer) < action(answers[i]))
            answers[i] = answer;
    }
    free(filter);
    return 1;
}

// Of all filters of the stopped thread.
static int ask_all(struct hs_inject_target *target, uint32_t *answers)
{
    int result = 0;
    for (unsigned index = 0; index < MOST_FILTERS; index++) {
        result = ask_filter(target, index, answers);
        if (result <= 0)
            break;
    }
    return result < 0 ? result : 0;
}

static int judge(const struct hs_inject_target *target, const uint32_t *answers, bool samples, struct hs_error *error)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (calls[i].is_samplers && !samples)
            continue;
        if (ends(answers[i]))
            return hs_error__set(error, EPERM,
                                 "process %d has a filter of system calls (seccomp) that would end it for %s, which "
                                 "the recorder calls",
                                 (int)target->pid, calls[i].name);
        if (calls[i].is_needed && forbids(answers[i]))
            return hs_error__set(error, EPERM,
                                 "process %d has a filter of system calls (seccomp) that forbids %s, which the "
                                 "recorder needs",
                                 (int)target->pid, calls[i].name);
    }
    return 0;
}

int hs_seccomp__check(struct hs_inject_target *target, bool samples, bool force, struct hs_error *error)
{
    char mode[16] = "0";
    uint32_t answers[sizeof calls / sizeof *calls];
    if (!hs_inject_target__status(target->pid, "Seccomp", mode, sizeof mode) || !strcmp(mode, "0"))
        return 0;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        answers[i] = SECCOMP_RET_ALLOW;
    int failed = hs_inject_stop__one(target, error);
    if (failed)
        return failed;
    failed = ask_all(target, answers);
    hs_inject_target__let_go(target);
    if (failed && !force)
        return hs_error__set(error, -failed,
                             "process %d has a filter of system calls (seccomp) that cannot be read (%s): run this as "
                             "root with the capability CAP_SYS_ADMIN; with --force the process may end",
                             (int)target->pid, strerror(-failed));
    return failed ? 0 : judge(target, answers, samples, error);
}
