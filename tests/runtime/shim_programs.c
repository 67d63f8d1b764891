// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Programs for test_shim.c. Usage: shim_programs MODE [ARGUMENT...]; exits with 0 when all went as without a recorder.
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 100, PIPE_END = 8 };

static void *volatile blocks[BLOCKS];

static void allocate_in_child(void)
{
    for (size_t i = 0; i < BLOCKS; i++)
        blocks[i] = malloc(1000 + i);
}

// The child allocates BLOCKS blocks in a fork handler and frees half of them after fork.
static int fork_handler(void)
{
    pthread_atfork(NULL, NULL, allocate_in_child);
    free(malloc(1));
    pid_t child = fork();
    if (child == 0) {
        for (size_t i = 0; i < BLOCKS / 2; i++)
            free(blocks[i]);
        exit(0);
    }
    int status;
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}

// Two libraries with an operator new of their own, each loaded where the other one was not.
static int plugins(char **paths)
{
    for (int i = 0; i < 6; i++) {
        void *library = dlopen(paths[i % 2], RTLD_NOW | RTLD_LOCAL);
        int (*run)(void) = library ? (int (*)(void))dlsym(library, "run") : NULL;
        if (!run || run() != 5)
            return 1;
        dlclose(library);
        mmap(NULL, 1 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    return 0;
}

// The write end of the pipe is only in the recorder's hands, if it has kept it.
static int end_of_pipe(void)
{
    free(malloc(1));
    for (int fd = 3; fd < 20; fd++)
        if (fd != PIPE_END)
            close(fd);
    struct pollfd pipe = {.fd = PIPE_END, .events = POLLIN};
    return poll(&pipe, 1, 150000) == 1 && pipe.revents & POLLHUP ? 0 : 1;
}

// Runs end-of-pipe, recorded, where a filter refuses close_range, as that of older containers does.
static int refuse_close_range(char **arguments)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {4, filter};
    int ends[2];
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) || pipe(ends))
        return 2;
    if (dup2(ends[1], PIPE_END - 1) < 0 || dup2(ends[0], PIPE_END) < 0)
        return 3;
    setenv("LD_PRELOAD", arguments[1], 1);
    execl(arguments[0], arguments[0], "end-of-pipe", (char *)NULL);
    return 4;
}

int main(int count, char **arguments)
{
    const char *mode = count > 1 ? arguments[1] : "";
    if (!strcmp(mode, "fork-handler"))
        return fork_handler();
    if (!strcmp(mode, "plugins") && count == 4)
        return plugins(arguments + 2);
    if (!strcmp(mode, "end-of-pipe"))
        return end_of_pipe();
    if (!strcmp(mode, "refuse-close-range") && count == 4)
        return refuse_close_range(arguments + 2);
    return 9;
}
