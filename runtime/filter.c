// SPDX-License-Identifier: MIT OR Apache-2.0
#include "runtime/filter.h"

#include "arch/likely.h"
#include "arch/system.h"
#include "unwind/stack_memory.h"

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

enum { STEPS_OF_A_PAGE = 4096 / sizeof(struct sock_filter) };

struct call {
    uint16_t number;
    uint16_t what;
};

static const struct call calls[] = {
    {SYS_openat, HS_FORBIDDEN_FILES},
    {HS_KERNEL_FSTATAT, HS_FORBIDDEN_FILES},
    {HS_KERNEL_FSTAT, HS_FORBIDDEN_FILES | HS_FORBIDDEN_WRITING},
    {SYS_read, HS_FORBIDDEN_FILES},
    {SYS_pread64, HS_FORBIDDEN_FILES | HS_FORBIDDEN_WRITING},
    {SYS_close, HS_FORBIDDEN_FILES},
    {SYS_readlinkat, HS_FORBIDDEN_FILES},
    {SYS_unlinkat, HS_FORBIDDEN_FILES},
    {SYS_process_vm_readv, HS_FORBIDDEN_PROBES},
    {SYS_rt_sigprocmask, HS_FORBIDDEN_PROBES | HS_FORBIDDEN_WRITING},
    {SYS_prctl, HS_FORBIDDEN_NAMES | HS_FORBIDDEN_RIGHTS},
    {SYS_capget, HS_FORBIDDEN_RIGHTS},
    {SYS_tgkill, HS_FORBIDDEN_NAMES},
    {SYS_tkill, HS_FORBIDDEN_NAMES},
    {SYS_getrusage, HS_FORBIDDEN_NAMES},
    {SYS_getpid, HS_FORBIDDEN_PID},
    {SYS_gettid, HS_FORBIDDEN_TID},
    {SYS_pwritev, HS_FORBIDDEN_WRITING},
    {SYS_pwrite64, HS_FORBIDDEN_WRITING},
    {SYS_fallocate, HS_FORBIDDEN_WRITING},
    {SYS_prlimit64, HS_FORBIDDEN_WRITING},
    {HS_KERNEL_FUTEX, HS_FORBIDDEN_MEMORY},
#ifdef SYS_mmap2
    {SYS_mmap2, HS_FORBIDDEN_MEMORY},
#else
    {SYS_mmap, HS_FORBIDDEN_MEMORY},
#endif
    {SYS_munmap, HS_FORBIDDEN_MEMORY},
    {SYS_mremap, HS_FORBIDDEN_MOVING},
    {SYS_socket, HS_FORBIDDEN_SOCKETS},
    {SYS_bind, HS_FORBIDDEN_SOCKETS},
    {SYS_sendmsg, HS_FORBIDDEN_SOCKETS},
    {SYS_recvmsg, HS_FORBIDDEN_SOCKETS},
    {SYS_ppoll, HS_FORBIDDEN_OTHERS},
    {SYS_accept4, HS_FORBIDDEN_OTHERS},
    {SYS_recvfrom, HS_FORBIDDEN_OTHERS},
    {SYS_sendto, HS_FORBIDDEN_OTHERS},
    {SYS_madvise, HS_FORBIDDEN_OTHERS},
    {SYS_exit, HS_FORBIDDEN_OTHERS},
};

static uint32_t combine(uint32_t code, uint32_t a, uint32_t b)
{
    switch (code) {
    case BPF_JEQ:
        return a == b;
    case BPF_JGT:
        return a > b;
    case BPF_JGE:
        return a >= b;
    default: // BPF_JSET
        return (a & b) != 0;
    }
}

// The filter's result for a call with all arguments zero. Instructions other than comparisons count as a refusal.
static uint32_t answer(const struct sock_fprog *program, uint32_t number)
{
    uint32_t a = 0;
    for (uint64_t at = 0; at < program->len; at++) {
        const struct sock_filter *step = &program->filter[at];
        if (step->code == (BPF_LD | BPF_W | BPF_ABS))
            a = step->k == offsetof(struct seccomp_data, nr)     ? number
                : step->k == offsetof(struct seccomp_data, arch) ? HS_KERNEL_AUDIT_ARCH
                                                                 : 0;
        else if (step->code == (BPF_ALU | BPF_AND | BPF_K))
            a &= step->k;
        else if (step->code == (BPF_JMP | BPF_JA))
            at += step->k;
        else if ((step->code & ~0x70) == (BPF_JMP | BPF_K))
            at += combine(step->code & 0x70, a, step->k) ? step->jt : step->jf;
        else
            return step->code == (BPF_RET | BPF_K) ? step->k : SECCOMP_RET_KILL;
    }
    return SECCOMP_RET_KILL;
}

// A filter that returns an error does no more than the kernel might.
static bool ends(uint32_t answer)
{
    uint32_t action = answer & 0xffff0000;
    return action != SECCOMP_RET_ALLOW && action != SECCOMP_RET_ERRNO && action != 0x7ffc0000 && // ..._RET_LOG
           action != 0x7fc00000;                                                                 // ..._USER_NOTIF
}

static HS_COLD bool may_set_filters(void)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct rights[_LINUX_CAPABILITY_U32S_3] = {{~0U, 0, 0}};
    if (hs_system_forbids(HS_FORBIDDEN_RIGHTS) || HS_SYSTEM5(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0))
        return true;
    HS_SYSTEM2(SYS_capget, &header, rights);
    return rights[0].effective >> CAP_SYS_ADMIN & 1;
}

static HS_COLD bool is_readable(const struct sock_filter *step)
{
    char byte;
    return hs_memory_copy((uintptr_t)step, &byte, 1, true);
}

// The kernel sets no filter for the others. Libraries ask so what it can do.
static HS_COLD bool will_be_set(const struct sock_fprog *program)
{
    struct sock_fprog copy;
    if (hs_system_forbids(HS_FORBIDDEN_PROBES))
        return program != NULL;
    if (!hs_memory_copy((uintptr_t)program, &copy, sizeof copy, true) || copy.len - 1U >= BPF_MAXINSNS)
        return false;
    uint32_t at = copy.len - 1U;
    while (is_readable(copy.filter + at) && at)
        at -= at < STEPS_OF_A_PAGE ? at : STEPS_OF_A_PAGE;
    return !at && is_readable(copy.filter) && may_set_filters();
}

uint32_t hs_filter__forbids(uint64_t mode, const void *program)
{
    uint32_t forbidden = 0;
    if (mode != SECCOMP_MODE_STRICT && (mode != SECCOMP_MODE_FILTER || !will_be_set(program)))
        return 0;
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++)
        if (mode == SECCOMP_MODE_STRICT || ends(answer(program, calls[i].number)))
            forbidden |= calls[i].what;
    return forbidden;
}

void hs_filter__obey(uint32_t forbidden, bool all_threads)
{
    hs_system_process = (uint32_t)hs_system_getpid();
    __atomic_fetch_or(&hs_system_forbidden[all_threads], forbidden, __ATOMIC_SEQ_CST);
}
