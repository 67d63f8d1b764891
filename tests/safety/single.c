// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Looks whether it is alone in its process after it has allocated, and so does a child that it forks: single ARGUMENT.
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int threads(void)
{
    struct stat status;
    for (int i = 0; i < 50000; i++) {
        void *volatile block = malloc(100);
        free(block);
    }
    return stat("/proc/self/task", &status) ? 0 : (int)status.st_nlink - 2;
}

int main(void)
{
    int status, own = threads();
    pid_t child = fork();
    if (child == 0)
        _exit(threads());
    waitpid(child, &status, 0);
    printf("%d %d\n", own, WEXITSTATUS(status));
    return 0;
}
