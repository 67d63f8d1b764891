// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Asks the kernel what filters of system calls it can set, as libseccomp and browsers do, and sets none. Then
// allocates. Prints what the kernel says. With an argument, it also tries to set one without the right to.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void say(const char *what, long result)
{
    printf("%s: %ld, error %d\n", what, result, result ? errno : 0);
}

int main(int count, char **arguments)
{
    (void)arguments;
    struct sock_filter refuse = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    struct sock_filter *nowhere = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct sock_fprog program = {1, &refuse}, empty = {0, &refuse}, unreadable = {1, nowhere}, huge = {65535, &refuse};
    say("strict with flags", syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL));
    say("strict with arguments", syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, &program));
    say("no such operation", syscall(SYS_seccomp, 77, 0, &program));
    for (unsigned flags = 1; flags < 64; flags *= 2)
        say("flags", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, NULL));
    say("no such mode", prctl(PR_SET_SECCOMP, 77, &program, 0, 0));
    say("mode off", prctl(PR_SET_SECCOMP, SECCOMP_MODE_DISABLED, &program, 0, 0));
    say("no program", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0));
    say("unreadable program", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, nowhere, 0, 0));
    say("unreadable filter", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &unreadable, 0, 0));
    say("empty filter", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &empty, 0, 0));
    say("huge filter", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &huge, 0, 0));
    if (count > 1)
        say("without the right to", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0));
    for (int i = 0; i < 50000; i++) {
        void *volatile block = malloc(100);
        free(block);
    }
    return 0;
}
