// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Becomes a daemon by the book: fork, setsid, fork, chdir, umask, close everything. The daemon allocates and leaves a
// file in the folder it was started in; the first process waits for it, being its reaper.
#include "program.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void *inherited;

static int daemon_main(const char *path)
{
    MUST(chdir("/") == 0);
    umask(0);
    for (int fd = 0; fd < 4096; fd++)
        close(fd);
    if (open("/dev/null", O_RDWR) != 0 || dup(0) != 1 || dup(0) != 2)
        return 3;
    size_t rounds = (size_t)fewer_but(50000, 10000);
    for (size_t i = 0; i < rounds; i++)
        free(allocate(1 + i % 500));
    free(inherited);
    keep(allocate(12345));
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file != 3 || write(file, "daemon\n", 7) != 7)
        return 4;
    return 21;
}

int main(void)
{
    char path[PATH_MAX];
    MUST(getcwd(path, sizeof path - 32));
    strcat(path, "/daemon.result");
    inherited = allocate(1000);
    MUST(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
    pid_t first = fork();
    MUST(first >= 0);
    if (first == 0) {
        MUST(setsid() > 0);
        pid_t second = fork();
        MUST(second >= 0);
        if (second)
            _exit(20);
        return daemon_main(path);
    }
    int status, sum = 0, children = 0;
    while (waitpid(-1, &status, 0) > 0) {
        children++;
        sum += WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
    }
    char text[16] = "";
    int file = open(path, O_RDONLY);
    MUST(file >= 0 && read(file, text, sizeof text - 1) == 7);
    unlink(path);
    free(inherited);
    say("%d children, statuses add up to %d, the daemon wrote %s", children, sum, text);
    return 0;
}
