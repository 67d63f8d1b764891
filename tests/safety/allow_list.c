// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Allows itself a few system calls and allocates: allow_list wide|narrow all|own. The filter is for all threads, or for
// its own.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// The narrow list is its beginning.
static const unsigned allowed[] = {
    SYS_read,           SYS_write,        SYS_brk,         SYS_mmap,          SYS_munmap,    SYS_mremap,
    SYS_madvise,        SYS_mprotect,     SYS_futex,       SYS_rt_sigreturn,  SYS_exit,      SYS_exit_group,
    SYS_rt_sigprocmask, SYS_rt_sigaction, SYS_sigaltstack, SYS_clock_gettime, SYS_getrandom, SYS_close,
    SYS_nanosleep,      SYS_getpid,       SYS_gettid,
};
enum { ALLOWED = sizeof allowed / sizeof *allowed, NARROW = 12 };

static __attribute__((noinline)) void deeper(unsigned depth)
{
    volatile char pad[200];
    pad[0] = (char)depth;
    void *block = malloc(depth * 100 + 1);
    if (depth)
        deeper(depth - 1);
    free(block);
    pad[1] = pad[0];
}

static void confine(unsigned count, unsigned flags)
{
    struct sock_filter filter[2 * ALLOWED + 2], *at = filter;
    *at++ = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (unsigned i = 0; i < count; i++) {
        *at++ = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], 0, 1);
        *at++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    *at++ = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    struct sock_fprog program = {(unsigned short)(at - filter), filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program))
        _exit(77);
}

int main(int count, char **arguments)
{
    if (count != 3)
        return 1;
    deeper(3);
    confine(strcmp(arguments[1], "narrow") ? ALLOWED : NARROW,
            strcmp(arguments[2], "all") ? 0 : SECCOMP_FILTER_FLAG_TSYNC);
    for (unsigned i = 0; i < 2000; i++)
        deeper(i % 40);
    if (write(1, "fine\n", 5) != 5)
        return 1;
    _exit(0);
}
