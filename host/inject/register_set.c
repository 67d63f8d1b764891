// SPDX-License-Identifier: MIT OR Apache-2.0
#include "host/inject/register_set.h"

#include "host/inject/arch.h"

#include <elf.h>
#include <errno.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

// The kernel shortens the length to that of the set.
static int transfer(int request, pid_t tid, void *registers)
{
    struct iovec area = {registers, HS_INJECT_REGISTERS};
    return ptrace(request, tid, (void *)(uintptr_t)NT_PRSTATUS, &area) ? -errno : 0;
}

int hs_register_set__get(pid_t tid, void *registers)
{
    return transfer(PTRACE_GETREGSET, tid, registers);
}

int hs_register_set__set(pid_t tid, const void *registers)
{
    return transfer(PTRACE_SETREGSET, tid, (void *)(uintptr_t)registers);
}
