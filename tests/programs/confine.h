// SPDX-License-Identifier: MIT OR Apache-2.0
//
// No network for a program's own threads: a thread that was there before, as the shim's sender, keeps its.
#ifndef HEAPSONDE_TESTS_CONFINE_H
#define HEAPSONDE_TESTS_CONFINE_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#ifndef SECCOMP_RET_KILL_PROCESS // Linux 4.14
#define SECCOMP_RET_KILL_PROCESS 0x80000000u
#endif

// From here on a call on a socket, or one that waits for descriptors, ends the process with SIGSYS: of this thread and
// of those that it starts. Returns 0 or an errno.
__attribute__((unused)) static int confine(void)
{
    static const unsigned short calls[] = {
        SYS_socket,       SYS_connect,    SYS_bind,     SYS_listen,   SYS_accept4,
        SYS_sendto,       SYS_sendmsg,    SYS_recvfrom, SYS_recvmsg,  SYS_shutdown,
        SYS_getsockopt,   SYS_setsockopt, SYS_ppoll,    SYS_pselect6, SYS_epoll_pwait,
#ifdef SYS_poll
        SYS_poll,
#endif
#ifdef SYS_select
        SYS_select,
#endif
#ifdef SYS_ppoll_time64
        SYS_ppoll_time64,
#endif
    };
    enum { COUNT = sizeof calls / sizeof calls[0] };
    struct sock_filter filter[COUNT + 3] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    for (unsigned i = 0; i < COUNT; i++)
        filter[1 + i] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], (unsigned char)(COUNT - i), 0);
    filter[COUNT + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    filter[COUNT + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog program = {COUNT + 3, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return errno;
    return 0;
}

#endif
