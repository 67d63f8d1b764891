// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Steps through a forked child, which has the same code at the same addresses, with ptrace(2). Each snapshot is what
// the kernel would give for a sample there: registers, and a copy of the stack.
#define _GNU_SOURCE
#include "judge.h"
#include "shapes.h"

#include <elf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COPY = 16384 };
static uint8_t copy[COPY];

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void take_registers(pid_t child, uintptr_t *values)
{
    struct user_regs_struct given;
    struct iovec place = {&given, sizeof given};
    if (ptrace(PTRACE_GETREGSET, child, (void *)NT_PRSTATUS, &place))
        fail("PTRACE_GETREGSET");
#if defined(__x86_64__)
    const uintptr_t in_order[] = {given.rax, given.rdx, given.rcx, given.rbx, given.rsi, given.rdi,
                                  given.rbp, given.rsp, given.r8,  given.r9,  given.r10, given.r11,
                                  given.r12, given.r13, given.r14, given.r15, given.rip};
    for (unsigned i = 0; i < sizeof in_order / sizeof *in_order; i++)
        values[i] = in_order[i];
#else
    for (unsigned i = 0; i < 31; i++)
        values[i] = given.regs[i];
    values[HS_DWARF_SP] = given.sp;
    values[HS_DWARF_PC] = given.pc;
#endif
}

static void take_snapshot(pid_t child, struct hs_snapshot *snapshot)
{
    take_registers(child, snapshot->registers.values);
    struct iovec to = {copy, COPY}, from = {(void *)snapshot->registers.values[HS_DWARF_SP], COPY};
    ssize_t size = process_vm_readv(child, &to, 1, &from, 1, 0);
    if (size < (ssize_t)sizeof(uintptr_t))
        fail("process_vm_readv");
    snapshot->copy = copy;
    snapshot->size = (size_t)size;
}

// One instruction. Returns the signal that is to come next, 0: none.
static int step(pid_t child, int signal)
{
    int status;
    if (ptrace(PTRACE_SINGLESTEP, child, NULL, (void *)(long)signal))
        fail("PTRACE_SINGLESTEP");
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) {
        fprintf(stderr, "the child has ended: status %#x\n", (unsigned)status);
        exit(1);
    }
    return WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
}

// Nothing was executed where the step ended with a signal that is yet to be delivered.
static void step_through(pid_t child)
{
    struct hs_snapshot at = {.size = 0};
    struct shadow shadow;
    int signal = 0;
    do {
        signal = step(child, signal);
        take_snapshot(child, &at);
    } while (at.registers.values[HS_DWARF_PC] != (uintptr_t)shapes_run);
    shadow_begin(&shadow, &at);
    while (shadow.depth) {
        judge_step(&shadow, &at);
        int delivered = signal;
        signal = step(child, delivered);
        take_snapshot(child, &at);
        if (!signal || !delivered)
            shadow_step(&shadow, &at, delivered != 0);
    }
}

__attribute__((noinline)) static void be_stepped(void)
{
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    raise(SIGSTOP);
    shapes_run();
    _exit(0);
}

int main(int count, char **arguments)
{
    int status;
    (void)count;
    pid_t child = fork();
    if (!child)
        be_stepped();
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
        fail("fork");
    step_through(child);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return judge_end(arguments[0]);
}
