// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A process to be controlled. It reads lines and answers each with one:
//   keep    allocates 1000 blocks of 1000 bytes in keep_blocks(), and keeps them: "kept"
//   fork    forks a child that does the same as this process, without lines, until it is killed: its number
//   storm   forks 200 children that allocate and end, while two threads allocate: "calm"
//   nobody  becomes the user nobody: "nobody", or why not
//   unshare moves into a user namespace of its own, which only a process with one thread can: "unshared", or why not
//   quit    ends
#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 1000, BLOCK = 1000, CHILDREN = 200, NOBODY = 65534 };

static void *volatile last; // keeps the compiler from leaving blocks out
static atomic_int stop;

__attribute__((noinline)) static void *keep_block(size_t size)
{
    void *block = malloc(size);
    last = memset(block, 1, size);
    return block;
}

__attribute__((noinline)) static void keep_blocks(void)
{
    for (int i = 0; i < BLOCKS; i++)
        keep_block(BLOCK);
}

static void *churn(void *unused)
{
    (void)unused;
    while (!stop)
        free(keep_block(BLOCK));
    return NULL;
}

static long become_child(void)
{
    pid_t child = fork();
    if (child)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    keep_blocks();
    for (;;)
        pause();
}

static const char *storm(void)
{
    pthread_t threads[2];
    stop = 0;
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, churn, NULL);
    for (int i = 0; i < CHILDREN; i++) {
        pid_t child = fork();
        if (child == 0) {
            free(keep_block(BLOCK));
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    stop = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return "calm";
}

static const char *become_nobody(void)
{
    if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))
        return strerror(errno);
    return "nobody";
}

static const char *move_to_namespace(void)
{
    return unshare(CLONE_NEWUSER) ? strerror(errno) : "unshared";
}

int main(void)
{
    char line[64];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setvbuf(stdout, NULL, _IOLBF, 0);
    puts("ready");
    while (fgets(line, sizeof line, stdin) && strcmp(line, "quit\n")) {
        if (!strcmp(line, "keep\n")) {
            keep_blocks();
            puts("kept");
        } else if (!strcmp(line, "fork\n")) {
            printf("%ld\n", become_child());
        } else if (!strcmp(line, "storm\n")) {
            puts(storm());
        } else if (!strcmp(line, "nobody\n")) {
            puts(become_nobody());
        } else if (!strcmp(line, "unshare\n")) {
            puts(move_to_namespace());
        }
    }
    return 0;
}
