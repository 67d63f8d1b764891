// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/inject/trap_signal.h"

#include "host/inject/cave.h"
#include "host/inject/steer.h"
#include "host/inject/thread.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

enum { KERNEL_MASK = 8 * HS_INJECT_MASK, BELOW_STACK = 1024 };

static const uint64_t trap_bit = 1u << (SIGTRAP - 1);

// Of more than 64 signals, the first are the last digits.
static bool has_trap(const struct hs_inject_target *target, const char *set)
{
    enum { DIGITS = 16 };
    char signals[64] = "";
    hs_inject_target__status(target->pid, set, signals, sizeof signals);
    const size_t length = strlen(signals);
    return strtoull(length > DIGITS ? signals + length - DIGITS : signals, NULL, 16) & trap_bit;
}

struct hs_trap_signal hs_trap_signal__of(const struct hs_inject_target *target)
{
    return (struct hs_trap_signal){has_trap(target, "SigBlk"), has_trap(target, "SigIgn")};
}

// The action of the kernel's is its handler, behind flags on MIPS.
static int ignore(struct hs_inject_target *target, struct hs_error *error)
{
#if defined(__mips__)
    const uintptr_t action[8] = {0, (uintptr_t)SIG_IGN};
#else
    const uintptr_t action[8] = {(uintptr_t)SIG_IGN};
#endif
    uint64_t pc, sp = 0, pointer;
    long result = -1;
    int failed = hs_inject_target__read_mappings(target, error);
    if (failed)
        return failed;
    uint64_t cave =
        hs_inject_thread__look(target->arch, target->pid, &pc, &sp, &pointer) ? 0 : hs_cave__find(target, pc);
    const uint64_t at = (sp - BELOW_STACK) & ~(uint64_t)15;
    if (!cave)
        return hs_error__set(error, ENOTSUP, "process %d has no unused bytes in its code", (int)target->pid);
    failed = hs_inject_target__write(target, at, action, sizeof action);
    if (failed)
        return hs_inject_target__not_written(target, failed, error);
    const struct hs_system_call call = {SYS_rt_sigaction, {SIGTRAP, (long)at, 0, KERNEL_MASK}};
    failed = hs_inject_steer__call(target, cave, 0, &call, &result, error);
    hs_cave__empty(target, cave);
    return failed || !result ? failed : hs_error__set(error, EIO, "its SIGTRAP cannot be ignored again");
}

int hs_trap_signal__put_back(struct hs_inject_target *target, const struct hs_trap_signal *signal,
                             struct hs_error *error)
{
    int failed = signal->is_blocked ? hs_inject_steer__block(target, trap_bit, error) : 0;
    return failed || !signal->is_ignored ? failed : ignore(target, error);
}
