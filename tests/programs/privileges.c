// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Gives up rights while threads allocate: setuid (in every thread of the process), namespaces, system call filters.
// Usage: privileges setuid|unshare-user|unshare-mount|seccomp-clone|seccomp-narrow|seccomp-everywhere|no-dump|chroot
#include "program.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static void allocate_some(void)
{
    size_t rounds = (size_t)fewer_but(50000, 10000);
    for (size_t i = 0; i < rounds; i++)
        free(allocate(1 + i % 700));
}

static atomic_bool stop;

static void *busy(void *unused)
{
    (void)unused;
    while (!stop)
        free(allocate(100));
    return NULL;
}

// Newer architectures have only the general forms of these.
#ifdef SYS_fork
#define OLD_PROCESS_CALLS SYS_fork
#define OLD_FILE_CALLS    SYS_open, SYS_creat, SYS_unlink, SYS_rename
#else
#define OLD_PROCESS_CALLS SYS_clone
#define OLD_FILE_CALLS    SYS_unlinkat, SYS_renameat
#endif

// Everything else is allowed: a filter as services have it.
// `flags`: SECCOMP_FILTER_FLAG_*.
static void filter(const int *numbers, int count, uint32_t action, unsigned flags)
{
    struct sock_filter program[64];
    int n = 0;
    program[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < count; i++) {
        program[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)numbers[i], 0, 1);
        program[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
    }
    program[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog all = {.len = (unsigned short)n, .filter = program};
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    MUST(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &all) == 0);
}

// A stack of its own for each depth.
static NOINLINE void allocate_below(unsigned depth)
{
    if (depth)
        allocate_below(depth - 1);
    free(allocate(1 + depth));
}

int main(int count, char **arguments)
{
    const char *mode = count > 1 ? arguments[1] : "setuid";
    allocate_some();
    if (!strcmp(mode, "setuid")) {
        pthread_t threads[3];
        for (int t = 0; t < 3; t++)
            MUST(pthread_create(&threads[t], NULL, busy, NULL) == 0);
        MUST(setgid(65534) == 0 && setuid(65534) == 0);
        allocate_some();
        MUST(setuid(0) == -1 && errno == EPERM);
        stop = 1;
        for (int t = 0; t < 3; t++)
            pthread_join(threads[t], NULL);
        say("uid %d gid %d\n", (int)getuid(), (int)getgid());
    } else if (!strcmp(mode, "unshare-user")) {
        int status = unshare(CLONE_NEWUSER);
        say("unshare(CLONE_NEWUSER): %d, errno %d\n", status, status ? errno : 0);
    } else if (!strcmp(mode, "unshare-mount")) {
        int status = unshare(CLONE_NEWNS | CLONE_FS);
        say("unshare(CLONE_NEWNS | CLONE_FS): %d, errno %d\n", status, status ? errno : 0);
    } else if (!strcmp(mode, "seccomp-clone")) {
        static const int numbers[] = {SYS_clone, SYS_clone3, OLD_PROCESS_CALLS};
        filter(numbers, sizeof numbers / sizeof *numbers, SECCOMP_RET_ERRNO | EPERM, 0);
        pthread_t thread;
        int status = pthread_create(&thread, NULL, busy, NULL);
        say("pthread_create: %d\n", status);
    } else if (!strcmp(mode, "seccomp-narrow")) {
        // No new files, sockets, processes or changes to files: the process is killed for trying.
        static const int numbers[] = {SYS_openat, SYS_socket, SYS_clone,         SYS_clone3,
                                      SYS_execve, SYS_ptrace, OLD_PROCESS_CALLS, OLD_FILE_CALLS};
        filter(numbers, sizeof numbers / sizeof *numbers, SECCOMP_RET_KILL_PROCESS, 0);
        say("filter is on\n");
    } else if (!strcmp(mode, "seccomp-everywhere")) {
        // No new files for any thread of the process, whoever started it. New stacks for a while after that.
        static const int numbers[] = {SYS_openat, SYS_socket, SYS_execve, SYS_ptrace, OLD_FILE_CALLS};
        filter(numbers, sizeof numbers / sizeof *numbers, SECCOMP_RET_KILL_PROCESS, SECCOMP_FILTER_FLAG_TSYNC);
        for (unsigned depth = 0; depth < 600; depth++)
            allocate_below(depth);
    } else if (!strcmp(mode, "no-dump")) {
        MUST(prctl(PR_SET_DUMPABLE, 0) == 0);
        say("not dumpable\n");
    } else if (!strcmp(mode, "chroot")) {
        MUST(mkdir("empty", 0700) == 0 || errno == EEXIST);
        MUST(chroot("empty") == 0 && chdir("/") == 0);
        say("in an empty root\n");
    } else {
        return 2;
    }
    allocate_some();
    keep(allocate(4321));
    return 5;
}
